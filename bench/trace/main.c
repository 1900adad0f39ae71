// The time of one call: bench_trace CALL ROUNDS CALLS FOLDER prints {"ns": median over the rounds, a round's time over its calls}.
// CALL: pwrite (64 bytes), open (and close), stat, fwrite (64 bytes to a buffered stream).
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 64 };

static char path[4096], bytes[BYTES];
static int file;
static FILE *stream;

static void must(int done, const char *what) {
    if (done) return;
    perror(what);
    exit(2);
}

static void call_pwrite(long number) { must(pwrite(file, bytes, BYTES, number % 1024 * BYTES) == BYTES, "pwrite"); }

static void call_open(long number) {
    (void)number;
    const int opened = open(path, O_RDWR);
    must(opened >= 0 && close(opened) == 0, "open");
}

static void call_stat(long number) {
    struct stat about;
    (void)number;
    must(stat(path, &about) == 0, "stat");
}

static void call_fwrite(long number) {
    if (number % 1024 == 0) rewind(stream);
    must(fwrite(bytes, 1, BYTES, stream) == BYTES, "fwrite");
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*call)(long);
    } known[] = {{"pwrite", call_pwrite}, {"open", call_open}, {"stat", call_stat}, {"fwrite", call_fwrite}};
    void (*call)(long) = NULL;
    for (size_t i = 0; argc == 5 && i < sizeof known / sizeof *known; ++i)
        if (strcmp(argv[1], known[i].name) == 0) call = known[i].call;
    if (call == NULL) {
        fprintf(stderr, "bench_trace pwrite|open|stat|fwrite ROUNDS CALLS FOLDER\n");
        return 2;
    }
    const long rounds = atol(argv[2]), calls = atol(argv[3]);
    snprintf(path, sizeof path, "%s/file", argv[4]);
    memset(bytes, 'x', sizeof bytes);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    stream = fopen(path, "r+");
    must(file >= 0 && stream != NULL, path);
    double *const ns = calloc((size_t)rounds, sizeof *ns);
    for (long round = -1; round < rounds; ++round) {  // the first is the warm-up
        const double begun = now_ns();
        for (long number = 0; number < calls; ++number) call(number);
        if (round >= 0) ns[round] = (now_ns() - begun) / (double)calls;
    }
    must(fclose(stream) == 0, "fclose");
    qsort(ns, (size_t)rounds, sizeof *ns, ascending);
    printf("{\"ns\": %.1f}\n", ns[rounds / 2]);
    return 0;
}
