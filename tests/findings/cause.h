// What the programs of tests/findings share. Each has a cause, or not: `PROGRAM cause` or `PROGRAM twin`. Both write and read the
// same bytes where the cause allows it. A comment of each says how many ranks it needs, and what is slow (slow.c).
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char data[1 << 20];
static int has_cause;

static int must(int result) {
    if (result < 0) perror("cause"), exit(3);
    return result;
}
static int make(const char *path) { return must(open(path, O_CREAT | O_RDWR | O_TRUNC, 0644)); }
static void put(int fd, size_t bytes) {
    if (write(fd, data, bytes) != (ssize_t)bytes) perror("write"), exit(3);
}
static void put_at(int fd, size_t bytes, off_t at) {
    if (pwrite(fd, data, bytes, at) != (ssize_t)bytes) perror("pwrite"), exit(3);
}
static void begin(int argc, char **argv) {
    has_cause = argc > 1 && strcmp(argv[1], "cause") == 0;
    (void)put, (void)put_at, (void)make;
}
