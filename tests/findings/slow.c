// A slow file system, preloaded behind the tracer: calls take longer by what SLOW says, such as "open=300,write=20" (microseconds).
//
//   open (and fopen), write, read, pwrite, pread, fsync, unlink, stat, fflush   each such call
//   crowd    a create, for each file that this process has made in the same directory before
//   aside    a pwrite that does not begin at a multiple of 4096
//   meet     a pwrite, for each other process that is in one on the same file
//   load     a pwrite, for each other process that is in one
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double us_of(const char *name) {
    const char *all = getenv("SLOW");
    const size_t length = strlen(name);
    for (const char *at = all; at != NULL; at = strchr(at, ','), at = at != NULL ? at + 1 : NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=') return atof(at + length + 1);
    return 0;
}

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

// Ranks may share a core: a long wait gives it up.
static void wait_us(double us) {
    const double end = now_us() + us;
    if (us > 500) {
        const struct timespec time = {(time_t)(us / 1e6), (long)(1e3 * us) % 1000000000};
        nanosleep(&time, NULL);
    }
    while (now_us() < end) continue;
}

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

// How many processes are in a pwrite: of each file, by a hash of its number, and of all. In the folder of the run.
static int *counts(void) {
    static int *shared;
    if (shared != NULL) return shared;
    const int fd = REAL(int, open64, const char *, int, ...)(".writers", O_RDWR | O_CREAT, 0644);
    if (REAL(int, ftruncate, int, off_t)(fd, 4096) != 0) abort();
    shared = REAL(void *, mmap, void *, size_t, int, int, int, off_t)(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return shared;
}

static void crowd(const char *path) {
    static struct {
        char name[256];
        int files;
    } directories[256];
    const char *slash = strrchr(path, '/');
    const size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    for (int k = 0; k < 256; ++k) {
        if (directories[k].files > 0 && (strlen(directories[k].name) != length || strncmp(directories[k].name, path, length) != 0))
            continue;
        memcpy(directories[k].name, path, length);
        wait_us(us_of("crowd") * directories[k].files++);
        return;
    }
}

static int open_slowly(const char *name, const char *path, int flags, mode_t mode) {
    wait_us(us_of("open"));
    if ((flags & O_CREAT) != 0 && us_of("crowd") > 0) crowd(path);
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    return real(path, flags, mode);
}

#define OPEN(name)                                    \
    int name(const char *path, int flags, ...) {      \
        va_list rest;                                 \
        va_start(rest, flags);                        \
        const mode_t mode = va_arg(rest, mode_t);     \
        va_end(rest);                                 \
        return open_slowly(#name, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

FILE *fopen(const char *path, const char *mode) {
    wait_us(us_of("open"));
    return REAL(FILE *, fopen, const char *, const char *)(path, mode);
}

ssize_t write(int fd, const void *from, size_t bytes) {
    wait_us(us_of("write"));
    return REAL(ssize_t, write, int, const void *, size_t)(fd, from, bytes);
}
ssize_t read(int fd, void *to, size_t bytes) {
    wait_us(us_of("read"));
    return REAL(ssize_t, read, int, void *, size_t)(fd, to, bytes);
}
static ssize_t pwrite_slowly(int fd, const void *from, size_t bytes, off_t at) {
    wait_us(us_of("pwrite"));
    if (at % 4096 != 0) wait_us(us_of("aside"));
    const int counted = us_of("meet") > 0 || us_of("load") > 0;
    struct stat status = {0};
    if (counted) REAL(int, fstat, int, struct stat *)(fd, &status);
    int *of_file = counted ? &counts()[1 + status.st_ino % 1000] : NULL;
    if (counted) {
        const int here = __atomic_add_fetch(of_file, 1, __ATOMIC_SEQ_CST), all = __atomic_add_fetch(counts(), 1, __ATOMIC_SEQ_CST);
        wait_us(100);
        wait_us(us_of("meet") * (here - 1) + us_of("load") * (all - 1));
    }
    const ssize_t result = REAL(ssize_t, pwrite64, int, const void *, size_t, off_t)(fd, from, bytes, at);
    if (counted) __atomic_sub_fetch(of_file, 1, __ATOMIC_SEQ_CST), __atomic_sub_fetch(counts(), 1, __ATOMIC_SEQ_CST);
    return result;
}
ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at) { return pwrite_slowly(fd, from, bytes, at); }
ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t at) { return pwrite_slowly(fd, from, bytes, at); }
ssize_t pread(int fd, void *to, size_t bytes, off_t at) {
    wait_us(us_of("pread"));
    return REAL(ssize_t, pread64, int, void *, size_t, off_t)(fd, to, bytes, at);
}
int fsync(int fd) {
    wait_us(us_of("fsync"));
    return REAL(int, fsync, int)(fd);
}
int unlink(const char *path) {
    wait_us(us_of("unlink"));
    return REAL(int, unlink, const char *)(path);
}
int stat(const char *path, struct stat *status) {
    wait_us(us_of("stat"));
    return REAL(int, stat, const char *, struct stat *)(path, status);
}
int fflush(FILE *stream) {
    wait_us(us_of("fflush"));
    return REAL(int, fflush, FILE *)(stream);
}
