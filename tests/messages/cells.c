/* Counts what ranks send for scattered cells: preloaded into an MPI program, it appends "indices WORDS" (a plan of an exchange) or
 * "cells BYTES" (their values) for each message to the file $MESSAGES.RANK. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void note(const char *what, int count) {
    char name[4096];
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof name, "%s.%d", getenv("MESSAGES"), rank);
    FILE *file = fopen(name, "a");
    if (file == NULL) PMPI_Abort(MPI_COMM_WORLD, 1);
    fprintf(file, "%s %d\n", what, count);
    fclose(file);
}

int MPI_Issend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    if (type == MPI_UINT64_T) note("indices", count);
    return PMPI_Issend(data, count, type, to, tag, comm, request);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
    if (type == MPI_BYTE) note("cells", count);
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}
