// The standard streams, which HDF5's static library needs to print its error stack: see cmake/TailraceStaticHdf5.cmake.
#include <stdio.h>

FILE *hdf5_stdin, *hdf5_stdout, *hdf5_stderr;

__attribute__((constructor)) static void take_streams(void) {
    hdf5_stdin = stdin;
    hdf5_stdout = stdout;
    hdf5_stderr = stderr;
}
