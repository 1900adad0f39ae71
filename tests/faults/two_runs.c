/* Preloaded into runs that write one stream. From the environment:
 *
 *   TWO_RUNS_DIRECTORY  calls below it count
 *   TWO_RUNS_STOP       SIGSTOP to this process before the call of this number, from 1; absent or 0: never
 *   TWO_RUNS_ONLY       only calls on paths that end so count; absent or empty: all
 *   TWO_RUNS_LOCKS      "there" (or absent): locks as the file system has them; "refused": ENOLCK; "node:N": this process is on
 *                       node N, and locks reach the processes of its node alone
 *
 * The calls that count change a file or look for one: open, write, pwritev, rename, link, unlink, mkdir, ftruncate, locks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_int calls;

static int node(void) {
    const char *locks = getenv("TWO_RUNS_LOCKS");
    return locks != NULL && strncmp(locks, "node:", 5) == 0 ? atoi(locks + 5) : 0;
}

static int is_below(const char *path) {
    const char *directory = getenv("TWO_RUNS_DIRECTORY");
    const char *only = getenv("TWO_RUNS_ONLY");
    if (directory == NULL || path == NULL || strncmp(path, directory, strlen(directory)) != 0) return 0;
    const size_t length = strlen(path), end = only == NULL ? 0 : strlen(only);
    return end == 0 || (end <= length && strcmp(path + length - end, only) == 0);
}

static void at(const char *path) {
    const char *stop = getenv("TWO_RUNS_STOP");
    const int before = errno;
    if (stop != NULL && is_below(path) && atomic_fetch_add(&calls, 1) + 1 == atoi(stop)) kill(getpid(), SIGSTOP);
    errno = before;
}

static void at_descriptor(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return;
    path[n] = 0;
    at(path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        va_list list;                                                               \
        va_start(list, flags);                                                      \
        mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                               \
        at(path);                                                                   \
        return REAL(name)(path, flags, mode);                                       \
    }
OPEN(open)
OPEN(open64)

#define BY_DESCRIPTOR(type, name, parameters, arguments) \
    type name parameters {                               \
        at_descriptor(fd);                               \
        return REAL(name) arguments;                     \
    }
BY_DESCRIPTOR(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n))
BY_DESCRIPTOR(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t to), (fd, v, n, to))
BY_DESCRIPTOR(ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off64_t to), (fd, v, n, to))
BY_DESCRIPTOR(int, ftruncate, (int fd, off_t size), (fd, size))
BY_DESCRIPTOR(int, ftruncate64, (int fd, off64_t size), (fd, size))

#define BY_PATH(name, parameters, arguments) \
    int name parameters {                    \
        at(path);                            \
        return REAL(name) arguments;         \
    }
BY_PATH(rename, (const char *path, const char *to), (path, to))
BY_PATH(link, (const char *path, const char *to), (path, to))
BY_PATH(unlink, (const char *path), (path))
BY_PATH(rmdir, (const char *path), (path))
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode))

int unlinkat(int fd, const char *path, int flags) {
    at(path);
    return REAL(unlinkat)(fd, path, flags);
}

/* Where locks reach the own node alone, each node has bytes of its own. */
static int lock_or(int fd, int command, void *argument, int (*real)(int, int, ...)) {
    struct flock *lock = argument;
    const char *locks = getenv("TWO_RUNS_LOCKS");
    if (command != F_OFD_SETLK) return real(fd, command, argument);
    at_descriptor(fd);
    if (locks != NULL && strcmp(locks, "refused") == 0) {
        errno = ENOLCK;
        return -1;
    }
    struct flock shifted = *lock;
    shifted.l_start += 10L * node();
    return real(fd, command, &shifted);
}

#define FCNTL(name)                                        \
    int name(int fd, int command, ...) {                   \
        va_list list;                                      \
        va_start(list, command);                           \
        void *argument = va_arg(list, void *);             \
        va_end(list);                                      \
        return lock_or(fd, command, argument, REAL(name)); \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

int gethostname(char *name, size_t n) {
    if (node() == 0) return REAL(gethostname)(name, n);
    snprintf(name, n, "node%d", node());
    return 0;
}

/* What file systems there are is not known: locks may not reach other nodes. */
FILE *fopen64(const char *path, const char *how) {
    return REAL(fopen64)(node() > 0 && strcmp(path, "/proc/self/mountinfo") == 0 ? "/dev/null" : path, how);
}
FILE *fopen(const char *path, const char *how) {
    return REAL(fopen)(node() > 0 && strcmp(path, "/proc/self/mountinfo") == 0 ? "/dev/null" : path, how);
}
