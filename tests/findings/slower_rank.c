// ranks: 3
// slow: write=20000
#include "cause_mpi.h"
int main(int argc, char **argv) {
    begin_ranks(argc, argv);
    const int fd = make_own();
    if (has_cause && rank == 1) setenv("SLOW", "write=100000", 1);
    for (int step = 0; step < 3; ++step) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < 4; ++k) put(fd, 64 << 10);
    }
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
