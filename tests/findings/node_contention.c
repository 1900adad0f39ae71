// ranks: 2
// slow: load=3000
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
    for (int k = 0; k < (rank == 0 ? 40 : 0); ++k) put_at(fd, 64 << 10, k * (64l << 10));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; turn < ranks; ++turn) {
        for (int k = 0; k < (has_cause ? 50 : turn == rank ? 100 : 0); ++k)
            put_at(fd, 64 << 10, (100 * turn + k + 40) * (64l << 10));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(fd);
    return MPI_Finalize();
}
