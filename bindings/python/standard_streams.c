// The standard streams, for HDF5's archive: see cmake/TailraceStaticHdf5.cmake. HDF5 prints its error stack there, where it is
// asked to.
#include <stdio.h>

FILE *hdf5_stdin, *hdf5_stdout, *hdf5_stderr;

__attribute__((constructor)) static void take_streams(void) {
    hdf5_stdin = stdin;
    hdf5_stdout = stdout;
    hdf5_stderr = stderr;
}
