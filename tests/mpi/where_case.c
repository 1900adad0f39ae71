// where_case: each rank prints "RANK HOST SUM", where SUM has come from all ranks.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, sum = 0;
    char host[64] = "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host - 1);
    printf("%d %s %d\n", rank, host, sum);
    MPI_Finalize();
    return 0;
}
