/* Each rank writes its rows of a global array, in three steps: mpirun -n 4 rows_c */
#include <stdio.h>
#include <tailrace/tailrace.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, status;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    tailrace_stream *stream = NULL;
    status = tailrace_open(MPI_COMM_WORLD, "out", "rows_c", "layout = 'fpp'\nmode = 'replace'", &stream);
    if (status == TAILRACE_OK) {
        tailrace_define_dim(stream, "y", (uint64_t)ranks);
        tailrace_define_dim(stream, "x", 4);
        tailrace_define_var(stream, "T", TAILRACE_F32, 2, (const char *[]){"y", "x"}, 0);
        tailrace_put_attr_text(stream, "T", "units", "K");
    }
    for (int step = 0; step < 3 && status == TAILRACE_OK; ++step) {
        float row[4];
        for (int x = 0; x < 4; ++x) row[x] = (float)(100 * step + 4 * rank + x);
        tailrace_begin_step(stream, step);
        tailrace_put(stream, "T", 1,
                     &(tailrace_block){.data = row, .offset = (uint64_t[]){(uint64_t)rank, 0}, .count = (uint64_t[]){1, 4}});
        status = tailrace_end_step(stream); /* an error of the calls before comes back here, on all ranks */
    }
    if (status == TAILRACE_OK) status = tailrace_close(&stream);
    if (status != TAILRACE_OK) fprintf(stderr, "%s\n", tailrace_error_message());
    MPI_Finalize();
    return status;
}
