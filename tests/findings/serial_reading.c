// ranks: 2
// slow: read=300
#include "cause_mpi.h"
int main(int argc, char **argv) {
    begin_ranks(argc, argv);
    const int fd = make_own();
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
