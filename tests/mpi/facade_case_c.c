/* The case of tests/test_fortran.py in C: facade_case_c DIRECTORY NAME OPTIONS STEPS. */
#include <stdio.h>
#include <stdlib.h>
#include <tailrace/tailrace.h>

enum { LON = 10, LAT = 7, LEVEL = 3, CELL = 23, CHUNK = 3, HALO = 1 };

static int rank, ranks;

static void check(int status) {
    if (status != TAILRACE_OK) {
        fprintf(stderr, "rank %d: %s: %s\n", rank, tailrace_status_name(status), tailrace_error_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int64_t formula(int variable, int64_t step, int64_t index) { return variable * 100000 + step * 1000 + index; }

static int64_t begin_of(int64_t length, int r) { return length * r / ranks; }

static void define(tailrace_stream *s) {
    check(tailrace_define_dim(s, "lon", LON));
    check(tailrace_define_dim(s, "lat", LAT));
    check(tailrace_define_dim(s, "level", LEVEL));
    check(tailrace_define_dim(s, "cell", CELL));
    const int coordinate = TAILRACE_STATIC | TAILRACE_REPLICATED;
    check(tailrace_define_var(s, "lat", TAILRACE_F64, 1, (const char *[]){"lat"}, coordinate));
    check(tailrace_define_var(s, "lon", TAILRACE_F64, 1, (const char *[]){"lon"}, coordinate));
    check(tailrace_define_var(s, "area", TAILRACE_F32, 2, (const char *[]){"lat", "lon"}, coordinate));
    check(tailrace_define_var(s, "mask", TAILRACE_I8, 2, (const char *[]){"lat", "lon"}, TAILRACE_STATIC));
    check(tailrace_define_var(s, "T", TAILRACE_F32, 2, (const char *[]){"lat", "lon"}, 0));
    check(tailrace_define_var(s, "W", TAILRACE_F64, 3, (const char *[]){"level", "lat", "lon"}, 0));
    check(tailrace_define_var(s, "soil", TAILRACE_I32, 1, (const char *[]){"cell"}, 0));
    check(tailrace_define_var(s, "number", TAILRACE_I16, 1, (const char *[]){"lat"}, 0));
    check(tailrace_define_var(s, "id", TAILRACE_I64, 1, (const char *[]){"cell"}, 0));
    check(tailrace_define_var(s, "dt", TAILRACE_F64, 0, NULL, 0));
    const int32_t version = 3;
    const float range[2] = {-1.5F, 1e6F};
    check(tailrace_put_attr_text(s, NULL, "title", "case table"));
    check(tailrace_put_attr(s, NULL, "version", TAILRACE_I32, 1, &version));
    check(tailrace_put_attr_text(s, "time", "units", "seconds since 2000-01-01"));
    check(tailrace_put_attr_text(s, "lat", "units", "degrees_north"));
    check(tailrace_put_attr_text(s, "lon", "units", "degrees_east"));
    check(tailrace_put_attr_text(s, "T", "units", "K"));
    check(tailrace_put_attr(s, "T", "valid_range", TAILRACE_F32, 2, range));
}

static void put_static(tailrace_stream *s) {
    double lat[LAT], lon[LON];
    float area[LAT * LON];
    static int8_t mask[LAT][LON]; /* this rank's columns of it are put; stays until end_step */
    for (int j = 0; j < LAT; ++j) lat[j] = -75.0 + 25.0 * j;
    for (int i = 0; i < LON; ++i) lon[i] = 36.0 * i;
    for (int k = 0; k < LAT * LON; ++k) {
        area[k] = (float)formula(7, 0, k);
        mask[k / LON][k % LON] = (int8_t)(formula(4, 0, k) % 100);
    }
    check(tailrace_put_replicated(s, "lat", lat));
    check(tailrace_put_replicated(s, "lon", lon));
    check(tailrace_put_replicated(s, "area", area));
    const uint64_t first = (uint64_t)begin_of(LON, rank), end = (uint64_t)begin_of(LON, rank + 1);
    check(tailrace_put(s, "mask", 1,
                       &(tailrace_block){.data = &mask[0][first],
                                         .offset = (uint64_t[]){0, first},
                                         .count = (uint64_t[]){LAT, end - first},
                                         .stride = (int64_t[]){LON, 1}}));
}

static void write_step(tailrace_stream *s, int64_t step, int first_of_run) {
    static float t[LAT * LON];
    static double w[LEVEL][LAT + 2 * HALO][LON + 2 * HALO];
    static int32_t soil[CELL];
    static int16_t number[LAT];
    static int64_t id[CELL];
    const int64_t first = begin_of(LAT, rank), rows = begin_of(LAT, rank + 1) - first;

    check(tailrace_begin_step(s, 3600.0 * (double)step));
    if (first_of_run) put_static(s);
    for (int64_t k = 0; k < rows * LON; ++k) t[k] = (float)formula(1, step, first * LON + k);
    check(tailrace_put(
        s, "T", 1,
        &(tailrace_block){.data = t, .offset = (uint64_t[]){(uint64_t)first, 0}, .count = (uint64_t[]){(uint64_t)rows, LON}}));

    for (int64_t l = 0; l < LEVEL; ++l)
        for (int64_t j = -HALO; j < rows + HALO; ++j)
            for (int64_t i = -HALO; i < LON + HALO; ++i) {
                const int inside = j >= 0 && j < rows && i >= 0 && i < LON;
                w[l][j + HALO][i + HALO] = inside ? (double)formula(2, step, (l * LAT + first + j) * LON + i) : -1.0;
            }
    check(tailrace_put(s, "W", 1,
                       &(tailrace_block){.data = &w[0][HALO][HALO],
                                         .offset = (uint64_t[]){0, (uint64_t)first, 0},
                                         .count = (uint64_t[]){LEVEL, (uint64_t)rows, LON},
                                         .stride = (int64_t[]){sizeof w[0], sizeof w[0][0], sizeof w[0][0][0]}}));

    for (int chunk = 0; chunk * CHUNK < CELL; ++chunk) { /* dealt to the ranks in turn */
        const int64_t begin = chunk * CHUNK, end = begin + CHUNK < CELL ? begin + CHUNK : CELL;
        if (chunk % ranks != rank) continue;
        for (int64_t k = begin; k < end; ++k) soil[k] = (int32_t)formula(3, step, k);
        check(tailrace_put(
            s, "soil", 1,
            &(tailrace_block){
                .data = soil + begin, .offset = (uint64_t[]){(uint64_t)begin}, .count = (uint64_t[]){(uint64_t)(end - begin)}}));
    }

    if (rank == 0)
        for (int j = 0; j < LAT; ++j) number[j] = (int16_t)(formula(5, step, j) % 30000);
    check(tailrace_put(
        s, "number", 1,
        &(tailrace_block){
            .data = rank == 0 ? number : NULL, .offset = (uint64_t[]){0}, .count = (uint64_t[]){rank == 0 ? LAT : 0}}));

    if (rank == ranks - 1) { /* stored backwards */
        for (int64_t k = 0; k < CELL; ++k) id[CELL - 1 - k] = formula(6, step, k);
        check(tailrace_put(s, "id", 1,
                           &(tailrace_block){.data = &id[CELL - 1],
                                             .offset = (uint64_t[]){0},
                                             .count = (uint64_t[]){CELL},
                                             .stride = (int64_t[]){-(int64_t)sizeof id[0]}}));
    }
    check(tailrace_put_replicated(s, "dt", &(double){(double)formula(8, step, 0)}));
    check(tailrace_end_step(s));
}

int main(int argc, char **argv) {
    tailrace_stream *s = NULL;
    uint64_t done = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    check(tailrace_open(MPI_COMM_WORLD, argv[1], argv[2], argv[3], &s));
    define(s);
    check(tailrace_step_count(s, &done));
    for (int64_t step = (int64_t)done; step < (int64_t)done + atoi(argv[4]); ++step) write_step(s, step, step == (int64_t)done);
    check(tailrace_close(&s));
    MPI_Finalize();
    return 0;
}
