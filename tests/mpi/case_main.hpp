// The main function of a case in C++: MPI around it, and an end on all ranks when one fails.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <exception>

#include "end_job.hpp"

inline int rank, ranks;

// `run` returns the status of the process; 2 where the arguments make no sense.
template <class Run>
int case_main(int argc, char** argv, Run&& run, int threads = MPI_THREAD_SINGLE) {
    MPI_Init_thread(&argc, &argv, threads, &threads);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = 1;
    try {
        status = run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    }
    if (status != 0) end_job(status);
    std::printf("passed\n");
    MPI_Finalize();
    return status;
}
