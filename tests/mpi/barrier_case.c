// barrier_case: rank 0 enters MPI_Finalize half a second after the others, and prints when; each other rank prints when it left.
// The launcher's barrier in MPI_Finalize, which sends no data, holds them until then: "RANK SECONDS", by the machine's clock.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        const struct timespec half = {0, 500000000};
        nanosleep(&half, NULL);
    }
    const double entered = now_s();
    MPI_Finalize();
    printf("%d %.9f\n", rank, rank == 0 ? entered : now_s());
    return 0;
}
