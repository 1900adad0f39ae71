// ranks: 2
// slow: fsync=3000
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
    for (int step = 0; step < 40; ++step) {
        put(fd, 64 << 10);
        if (has_cause ? rank == step % 2 : step % 2 == 0) must(fsync(fd));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(fd);
    return MPI_Finalize();
}
