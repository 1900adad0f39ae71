// ranks: 2
// slow: load=3000
#include "cause_mpi.h"
int main(int argc, char **argv) {
    begin_ranks(argc, argv);
    const int fd = make_own();
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
