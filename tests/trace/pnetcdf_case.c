// pnetcdf_case FILE: a variable of 10 floats a rank, by each kind of call of PnetCDF, for tests/test_trace_pnetcdf.py.
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>

enum { MINE = 10 };

static void must(int error, const char *what) {
    if (error == NC_NOERR) return;
    fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(error));
    MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, id, x, v, request[3];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    float values[MINE], back[MINE];
    for (int i = 0; i < MINE; ++i) values[i] = (float)(MINE * rank + i);
    MPI_Offset start[1] = {MINE * rank}, count[1] = {MINE}, half[1] = {MINE / 2}, middle[1] = {MINE * rank + MINE / 2};
    MPI_Offset *starts[2] = {start, middle}, *counts[2] = {half, half};

    must(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &id), "create");
    must(ncmpi_def_dim(id, "x", MINE * ranks, &x), "def_dim");
    must(ncmpi_def_var(id, "v", NC_FLOAT, 1, &x, &v), "def_var");
    must(ncmpi_enddef(id), "enddef");
    must(ncmpi_put_vara_float_all(id, v, start, count, values), "put_vara_float_all");
    must(ncmpi_put_vara_all(id, v, start, count, values, MINE, MPI_FLOAT), "put_vara_all");
    must(ncmpi_put_varn_float_all(id, v, 2, starts, counts, values), "put_varn_float_all");
    must(ncmpi_iput_vara_float(id, v, start, count, values, &request[0]), "iput_vara_float");
    must(ncmpi_iput_varn(id, v, 2, starts, counts, values, MINE, MPI_FLOAT, &request[1]), "iput_varn");
    must(ncmpi_wait_all(id, 2, request, NULL), "wait_all");
    must(ncmpi_begin_indep_data(id), "begin_indep_data");
    must(ncmpi_get_var1_float(id, v, start, back), "get_var1_float");
    must(ncmpi_end_indep_data(id), "end_indep_data");
    must(ncmpi_iget_vara_float(id, v, start, count, back, &request[2]), "iget_vara_float");
    must(ncmpi_wait_all(id, 1, &request[2], NULL), "wait_all");
    must(ncmpi_close(id), "close");
    for (int i = 0; i < MINE; ++i)
        if (back[i] != values[i]) must(NC_EBADTYPE, "what was read");
    MPI_Finalize();
    return 0;
}
