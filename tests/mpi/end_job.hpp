// The end of a case that failed.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>

// Ends all ranks. MPICH's launcher drops what it has not read by then, so it is left time to read what was said.
inline void end_job(int status) {
    std::fflush(nullptr);
    usleep(200'000);
    MPI_Abort(MPI_COMM_WORLD, status);
}
