/* Makes the Nth system call on files below a directory fail with EIO: preloaded into a test program, armed by it.
 *
 *   fault_arm(DIRECTORY, N, once)   counts calls from now on; the Nth fails, and all later ones unless `once`
 *   fault_disarm()                  ends it; "" if no call was the Nth, else "CALL PATH" of the first that failed
 *
 * Closing is not failed: Linux closes the file in any case. Removing is: a removal that fails must not lose what is committed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char directory[4096], fired[8192];
static int armed, at, once, seen;

void fault_arm(const char *below, int number, int only_once) {
    snprintf(directory, sizeof directory, "%s", below);
    at = number;
    once = only_once;
    seen = 0;
    fired[0] = 0;
    armed = 1;
}

const char *fault_disarm(void) {
    armed = 0;
    return fired;
}

static int fails(const char *call, const char *path) {
    size_t n = strlen(directory);
    if (!armed || strncmp(path, directory, n) != 0 || (path[n] != '/' && path[n] != 0)) return 0;
    ++seen;
    if (seen < at || (once && seen > at)) return 0;
    if (!fired[0]) snprintf(fired, sizeof fired, "%s %s", call, path + n);
    errno = EIO;
    return 1;
}

static int fails_at(const char *call, int descriptor) {
    char link[64], path[4096];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return fails(call, path);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        va_list list;                                                               \
        va_start(list, flags);                                                      \
        mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                               \
        return fails("open", path) ? -1 : REAL(name)(path, flags, mode);            \
    }
OPEN(open)
OPEN(open64)

#define BY_DESCRIPTOR(type, call, name, parameters, arguments) \
    type name parameters { return fails_at(call, fd) ? -1 : REAL(name) arguments; }
BY_DESCRIPTOR(ssize_t, "pwritev", pwritev, (int fd, const struct iovec *v, int n, off_t to), (fd, v, n, to))
BY_DESCRIPTOR(ssize_t, "pwritev", pwritev64, (int fd, const struct iovec *v, int n, off64_t to), (fd, v, n, to))
BY_DESCRIPTOR(ssize_t, "pwrite", pwrite, (int fd, const void *data, size_t n, off_t to), (fd, data, n, to))
BY_DESCRIPTOR(ssize_t, "pwrite", pwrite64, (int fd, const void *data, size_t n, off64_t to), (fd, data, n, to))
BY_DESCRIPTOR(ssize_t, "write", write, (int fd, const void *data, size_t n), (fd, data, n))
BY_DESCRIPTOR(int, "fsync", fsync, (int fd), (fd))
BY_DESCRIPTOR(int, "fdatasync", fdatasync, (int fd), (fd))
BY_DESCRIPTOR(int, "ftruncate", ftruncate, (int fd, off_t size), (fd, size))
BY_DESCRIPTOR(int, "ftruncate", ftruncate64, (int fd, off64_t size), (fd, size))

int rename(const char *from, const char *to) { return fails("rename", from) ? -1 : REAL(rename)(from, to); }
int mkdir(const char *path, mode_t mode) { return fails("mkdir", path) ? -1 : REAL(mkdir)(path, mode); }
int unlink(const char *path) { return fails("unlink", path) ? -1 : REAL(unlink)(path); }
int remove(const char *path) { return fails("remove", path) ? -1 : REAL(remove)(path); }
int rmdir(const char *path) { return fails("rmdir", path) ? -1 : REAL(rmdir)(path); }
