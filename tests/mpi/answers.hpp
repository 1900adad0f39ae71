// What programs share that tell what each call of each rank returned, as JSON lines.
#pragma once

#include <fcntl.h>
#include <mpi.h>
#include <tailrace/tailrace.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

inline int rank, ranks, number;
inline tailrace_stream *stream;

// Starts MPI. Each rank answers into a file of its own in $ANSWERS, if that is set: mpirun mixes the lines of ranks.
inline void start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *directory = std::getenv("ANSWERS");
    if (directory == nullptr) return;
    const std::string path = std::string(directory) + "/" + std::to_string(rank);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0 || dup2(file, STDOUT_FILENO) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
}
