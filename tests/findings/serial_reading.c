// ranks: 2
// slow: read=300
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
    for (int k = 0; k < 16; ++k) put(fd, sizeof data);
    lseek(fd, 0, SEEK_SET);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < (has_cause ? (rank == 0 ? 1600 : 0) : 1600 / ranks); ++k) {
        if (read(fd, data, 64 << 10) <= 0) return 3;
        if (k % 256 == 255) lseek(fd, 0, SEEK_SET);
    }
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
