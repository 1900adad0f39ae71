// ranks: 2
// slow: meet=2000
#include "cause_mpi.h"
int main(int argc, char **argv) {
    begin_ranks(argc, argv);
    char path[64];
    snprintf(path, sizeof path, has_cause ? "all" : "of%d", rank);
    if (rank == 0) close(make(path));
    MPI_Barrier(MPI_COMM_WORLD);
    const int fd = must(open(path, O_RDWR | O_CREAT, 0644));
    for (int k = 0; k < (rank == 0 ? 40 : 0); ++k) put_at(fd, 64 << 10, k * (64l << 10));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 100; ++k) put_at(fd, 64 << 10, (40 + ranks * k + rank) * (64l << 10));
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
