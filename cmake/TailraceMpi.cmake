# Which MPI this is, and what follows from it. FindMPI chooses it: -DMPI_EXECUTABLE_SUFFIX=.mpich takes Debian's mpicc.mpich.
include(CheckSymbolExists)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_symbol_exists(OPEN_MPI mpi.h TAILRACE_OPEN_MPI)
unset(CMAKE_REQUIRED_LIBRARIES)

# The names that pkg-config has for it and for the HDF5 beside it.
if(TAILRACE_OPEN_MPI)
    set(TAILRACE_MPI_PC ompi-c)
    set(hdf5 hdf5-openmpi)
else()
    set(TAILRACE_MPI_PC mpich)
    set(hdf5 hdf5-serial)
endif()
set(TAILRACE_HDF5 ${hdf5} CACHE STRING "Name of HDF5 for pkg-config: serial, or parallel with the same MPI")
