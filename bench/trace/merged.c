// Many small writes, of which the log has only merged records: bench_trace_merged KIND ROUNDS WRITES FOLDER.
// KIND: one file; files: 8 in turn; seek: lseek and write; threads: 4, each with a file; collective: an Allreduce after every 10
// writes; allreduce: no writes, Allreduces of 8 bytes.
// Prints {"ns": N}: the time of a call, as the median over rounds of WRITES writes. It is processor time of the thread, which other
// programs on the machine disturb less; for `allreduce` it is the time that passes.
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 8, MOST_FILES = 8, THREADS = 4, PLACES = 512 };

static const char *kind, *folder;
static long rounds, writes;
static char bytes[BYTES];

static void must(int done, const char *what) {
    if (done) return;
    perror(what);
    exit(2);
}

static int is(const char *name) { return strcmp(kind, name) == 0; }

static double now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int open_file(int number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/file%d", folder, number);
    const int file = open(path, O_RDWR | O_CREAT, 0666);
    must(file >= 0, path);
    return file;
}

static void allreduce(void) {
    double of_one = 1, of_all;
    MPI_Allreduce(&of_one, &of_all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void write_round(const int *files, int number_of_files) {
    for (long i = 0; i < writes; ++i) {
        const int file = files[i % number_of_files];
        if (is("seek")) {
            must(lseek(file, i % PLACES * BYTES, SEEK_SET) >= 0, "lseek");
            must(write(file, bytes, BYTES) == BYTES, "write");
        } else {
            must(pwrite(file, bytes, BYTES, i % PLACES * BYTES) == BYTES, "pwrite");
        }
        if (is("collective") && i % 10 == 9) allreduce();
    }
}

// All rounds of a thread; returns the median time of a round.
static double measure(int first_file, int number_of_files) {
    int files[MOST_FILES];
    double *const ns = calloc((size_t)rounds, sizeof *ns);
    const clockid_t clock = is("allreduce") ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    for (int i = 0; i < number_of_files; ++i) files[i] = open_file(first_file + i);
    for (long round = 0; round < rounds; ++round) {
        const double begun = now_ns(clock);
        if (is("allreduce"))
            for (long i = 0; i < writes; ++i) allreduce();
        else
            write_round(files, number_of_files);
        ns[round] = now_ns(clock) - begun;
    }
    qsort(ns, (size_t)rounds, sizeof *ns, ascending);
    const double median = ns[rounds / 2];
    free(ns);
    return median;
}

static double of_thread[THREADS];

static void *run_thread(void *number) {
    of_thread[(long)number] = measure((int)(long)number, 1);
    return NULL;
}

static double measure_threads(void) {
    pthread_t threads[THREADS];
    double sum = 0;
    for (long i = 0; i < THREADS; ++i) must(pthread_create(&threads[i], NULL, run_thread, (void *)i) == 0, "pthread_create");
    for (int i = 0; i < THREADS; ++i) {
        must(pthread_join(threads[i], NULL) == 0, "pthread_join");
        sum += of_thread[i];
    }
    return sum / THREADS;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "bench_trace_merged one|files|seek|threads|collective|allreduce ROUNDS WRITES FOLDER\n");
        return 2;
    }
    kind = argv[1], rounds = atol(argv[2]), writes = atol(argv[3]), folder = argv[4];
    int rank = 0;
    const int with_mpi = is("collective") || is("allreduce");
    if (with_mpi) {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    const double calls = (double)writes * (is("seek") ? 2 : is("collective") ? 1.1 : 1);
    const double median_ns = is("threads") ? measure_threads() : measure(rank * MOST_FILES, is("files") ? MOST_FILES : 1);
    if (rank == 0) printf("{\"ns\": %.2f}\n", median_ns / calls);
    if (with_mpi) MPI_Finalize();
    return 0;
}
