// ranks: 2
// slow: fsync=3000
#include "cause_mpi.h"
int main(int argc, char **argv) {
    begin_ranks(argc, argv);
    const int fd = make_own();
    for (int step = 0; step < 40; ++step) {
        put(fd, 64 << 10);
        if (has_cause ? rank == step % 2 : step % 2 == 0) must(fsync(fd));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    close(fd);
    return MPI_Finalize();
}
