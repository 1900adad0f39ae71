// Warnings when the process ends, in its MPI_Finalize: streams that were not closed, and settings for streams that the program did
// not open.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace tailrace {

// Notes that this process opens a stream over `comm`, so that MPI_Finalize gives the warnings. `set_aside`: how many ranks write
// for those of `comm`. There is no warning after MPI_Abort, a signal, or an end without MPI_Finalize.
void note_opening(MPI_Comm comm, const std::string& name, uint64_t set_aside);

}  // namespace tailrace
