// ranks: 2
// slow: write=300
#include "cause_mpi.h"
int main(int argc, char **argv) {
    begin_ranks(argc, argv);
    const int fd = make_own();
    for (int step = 0; step < 5; ++step) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < (has_cause ? (rank == 0 ? 200 : 0) : 200 / ranks); ++k) put(fd, 64 << 10);
    }
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
