/* Calls of which a test knows the totals, however they are in the log: budget_case WHAT FOLDER NUMBER. Prints nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char data[64];

static int check(long result, const char *what) {
    if (result >= 0) return (int)result;
    perror(what);
    exit(2);
}

static int open_new(const char *name) { return check(open(name, O_RDWR | O_CREAT | O_TRUNC, 0666), name); }

static void write_often(int file, long number) {
    for (long i = 0; i < number; ++i) check(pwrite(file, data, 8, i % 512 * 8), "pwrite");
}

/* Whether the parent waits for something. It calls pread, so that the number of reads stays what it is. */
static int parent_sleeps(void) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
    const int file = check(open(path, O_RDONLY), path);
    text[check(pread(file, text, sizeof text - 1, 0), path)] = 0;
    close(file);
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'S';
}

/* Some reads from a pipe wait for its writer: 3 ms each, from when the reader sleeps, however late it gets a processor. */
static void slow_calls(long number) {
    const int file = open_new("read.dat");
    int ends[2];
    check(pipe(ends), "pipe");
    for (int i = 0; i < 40000; ++i) check(read(file, data, 8), "read");
    for (long i = 0; i < number; ++i) {
        const int child = check(fork(), "fork");
        if (child == 0) {
            const struct timespec pause = {0, 3000000}, look = {0, 100000};
            while (!parent_sleeps()) nanosleep(&look, NULL);
            nanosleep(&pause, NULL);
            check(write(ends[1], data, 1), "write");
            _exit(0);
        }
        check(read(ends[0], data, 1), "read");
    }
}

static void open_again(long number) {
    for (long i = 0; i < number; ++i) {
        const int file = open_new("again.dat");
        write_often(file, 10000);
        check(close(file), "close");
    }
}

static int in_handler;
static volatile long handled;

static void handle(int number) {
    (void)number;
    const int code = errno;
    for (int i = 0; i < 3; ++i) check(pwrite(in_handler, data, 1, 0), "pwrite");
    ++handled;
    errno = code;
}

/* A timer's handler makes calls like those that it interrupts. How often it ran is the size of "count". */
static void interrupted(long number) {
    in_handler = open_new("handler");
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    check(sigaction(SIGALRM, &action, NULL), "sigaction");
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {0};
    check(setitimer(ITIMER_REAL, &often, NULL), "setitimer");
    write_often(in_handler, number);
    check(setitimer(ITIMER_REAL, &never, NULL), "setitimer");
    check(ftruncate(open_new("count"), handled), "ftruncate");
}

/* As programs write checkpoints: into a file of another name, which then gets the name of the last one. */
static void renames(long number) {
    for (long i = 0; i < number; ++i) {
        char name[32];
        snprintf(name, sizeof name, "step%ld.partial", i);
        const int file = open_new(name);
        write_often(file, 1000);
        check(close(file), "close");
        if (i > 0) check(rename("state", "state_prev"), "rename");
        check(rename(name, "state"), "rename");
    }
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    check(chdir(argv[2]), argv[2]);
    const char *what = argv[1];
    const long number = atol(argv[3]);
    if (strcmp(what, "slow-calls") == 0) slow_calls(number);
    if (strcmp(what, "open-again") == 0) open_again(number);
    if (strcmp(what, "interrupted") == 0) interrupted(number);
    if (strcmp(what, "renames") == 0) renames(number);
    return 0;
}
