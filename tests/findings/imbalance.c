// ranks: 3
// slow: write=1000
#include "cause_mpi.h"
int main(int argc, char **argv) {
    begin_ranks(argc, argv);
    const int fd = make_own();
    for (int step = 0; step < 5; ++step) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < (has_cause ? (rank == 0 ? 120 : 30) : 60); ++k) put(fd, 64 << 10);
    }
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
