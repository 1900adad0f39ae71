// What the programs of several ranks share.
#include <mpi.h>

#include "cause.h"

static int rank, ranks;

static int make_own(void) {
    char path[64];
    snprintf(path, sizeof path, "of%d", rank);
    return make(path);
}
static void begin_ranks(int argc, char **argv) {
    begin(argc, argv);
    (void)make_own;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}
