// ranks: 2
// slow: write=300
#include <mpi.h>

#include "cause.h"
int main(int argc, char **argv) {
    begin(argc, argv);
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char path[64];
    snprintf(path, sizeof path, "of%d", rank);
    const int fd = make(path);
    for (int step = 0; step < 5; ++step) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < (has_cause ? (rank == 0 ? 200 : 0) : 200 / ranks); ++k) put(fd, 64 << 10);
    }
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
