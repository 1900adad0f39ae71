/* Makes small files from several processes: bench_stage FOLDER PROCESSES FILES BYTES SYNC [STEPS MILLISECONDS]. Each process makes
 * a folder of its own for each thousand of its files. SYNC 1: with fsync of each file and folder. It computes for so much processor
 * time behind each of STEPS equal parts of its files. Prints the seconds until the last process has ended. Each rank of Open MPI
 * makes FILES in PROCESSES of its own; they call no MPI. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check(int is_good, const char *what) {
    if (is_good) return;
    perror(what);
    _exit(3);
}

/* The byte at a place of a file: bench/stage.py has the same formula. */
static void fill(char *bytes, long size, long process, long file) {
    for (long at = 0; at < size; ++at) bytes[at] = (char)(process * 131 + file * 17 + at * 7 + at / 251);
}

static void sync_folder(const char *path) {
    const int folder = open(path, O_RDONLY | O_DIRECTORY);
    check(folder >= 0 && fsync(folder) == 0, path);
    close(folder);
}

/* Of this process alone: what others take of the processor makes it end later. */
static void compute(long milliseconds) {
    struct timespec now;
    volatile double value = 1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    const double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + (double)milliseconds / 1e3;
    do {
        for (int times = 0; times < 10000; ++times) value = value * 0.999 + 1;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

/* The first of this program's processes, in the numbers of all ranks. */
static long first_process(long processes) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    return rank == NULL ? 0 : atol(rank) * processes;
}

static void make_files(const char *folder, long process, long files, long size, int syncs, long steps, long milliseconds) {
    char *bytes = malloc((size_t)size), inner[4096], path[4400];
    check(bytes != NULL, "malloc");
    for (long file = 0; file < files; ++file) {
        snprintf(inner, sizeof inner, "%s/%ld.%ld", folder, process, file / 1000);
        if (file % 1000 == 0) check(mkdir(inner, 0755) == 0, inner);
        snprintf(path, sizeof path, "%s/%ld", inner, file);
        fill(bytes, size, process, file);
        const int made = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        check(made >= 0 && write(made, bytes, (size_t)size) == size, path);
        check(!syncs || fsync(made) == 0, path);
        check(close(made) == 0, path);
        if (steps > 0 && (file + 1) % (files / steps) == 0) compute(milliseconds);
        if (syncs && (file % 1000 == 999 || file + 1 == files)) sync_folder(inner);
    }
    free(bytes);
}

int main(int count, char **words) {
    if (count != 6 && count != 8) return 2;
    const long processes = atol(words[2]), files = atol(words[3]), size = atol(words[4]);
    const int syncs = atoi(words[5]);
    const long steps = count == 8 ? atol(words[6]) : 0, milliseconds = count == 8 ? atol(words[7]) : 0;
    const double begin = now_s();
    check(mkdir(words[1], 0755) == 0 || (getenv("OMPI_COMM_WORLD_RANK") != NULL && errno == EEXIST), words[1]);
    const long first = first_process(processes);
    for (long process = first; process < first + processes; ++process)
        if (fork() == 0) {
            make_files(words[1], process, files / processes, size, syncs, steps, milliseconds);
            _exit(0);
        }
    int worst = 0, status;
    while (wait(&status) > 0) worst = status != 0 ? 1 : worst;
    if (syncs) sync_folder(words[1]);
    printf("%.6f\n", now_s() - begin);
    return worst;
}
