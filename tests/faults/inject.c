/* Preloaded into a test program, it sees the system calls on files below a directory, and makes one of them fail or kills there.
 *
 *   fault_arm(DIRECTORY, N, once, CODE)  counts calls from now on; the Nth fails with errno CODE, and all later ones unless `once`
 *   fault_disarm()                       ends it; "" if no call was the Nth, else "CALL PATH" of the first that failed
 *
 *   fault_trace(DIRECTORY, FILE)         from now on every call is told in FILE, as lines of words between tabs:
 *                                        begin STAGE CALL N ADDRESS PATH WORD   before the Nth such call of the stage; WORD is the
                                                                               kind of a line of the journal
 *                                        half | end                             when half of a write has been done, or the call
 *   fault_stage(NAME)                    the program comes to this stage, which is told as call 0; stages count from 1
 *   fault_kill(STAGE, CALL, N, HOW, DELAY_US)
 *                                        SIGKILL to this process at the Nth such call of a stage: "before" it, "half" way (of what
 *                                        writes; at once) or "after" it, and so much later
 *
 * Closing is not failed: Linux closes the file in any case. Removing is: a removal that fails must not lose what is committed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char directory[4096], fired[8192];
static int armed, at, once, code, seen;
static int traces = -1, stage, kill_stage = -1, kill_number, kill_delay_us, halving;
static char kill_call[16], kill_how[16];
static struct {
    char name[16];
    int number;
} calls[32], *call_now;  // of the stage; the last one

void fault_arm(const char *below, int number, int only_once, int error) {
    snprintf(directory, sizeof directory, "%s", below);
    at = number;
    once = only_once;
    code = error;
    seen = 0;
    fired[0] = 0;
    armed = 1;
}

const char *fault_disarm(void) {
    armed = 0;
    return fired;
}

static void tell(const char *line) {
    if (syscall(SYS_write, traces, line, strlen(line)) < 0) abort();
}

static void end_here(void) {
    if (kill_delay_us == 0) {
        kill(getpid(), SIGKILL);
        return;
    }
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    const struct itimerspec when = {.it_value = {kill_delay_us / 1000000, kill_delay_us % 1000000 * 1000L}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || timer_settime(timer, 0, &when, NULL) != 0) abort();
    kill_stage = -1;
}

static int due(const char *how) {
    return stage == kill_stage && call_now->number == kill_number && strcmp(call_now->name, kill_call) == 0 &&
           strcmp(how, kill_how) == 0;
}

static void count(const char *call) {
    for (call_now = calls; call_now->name[0] != 0 && strcmp(call_now->name, call) != 0; ++call_now)
        if (call_now == calls + 31) abort();
    snprintf(call_now->name, sizeof call_now->name, "%s", call);
    ++call_now->number;
}

void fault_trace(const char *below, const char *file) {
    snprintf(directory, sizeof directory, "%s", below);
    if (traces >= 0) syscall(SYS_close, traces);
    traces = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (traces < 0) abort();
    stage = 0;
    kill_stage = -1;
}

void fault_kill(int in_stage, const char *call, int number, const char *how, int delay_us) {
    kill_stage = in_stage;
    kill_number = number;
    snprintf(kill_call, sizeof kill_call, "%s", call);
    kill_delay_us = delay_us;
    snprintf(kill_how, sizeof kill_how, "%s", how);
}

void fault_stage(const char *name) {
    char line[128];
    if (traces < 0) return;
    ++stage;
    memset(calls, 0, sizeof calls);
    count(name);
    call_now->number = 0;
    snprintf(line, sizeof line, "begin\t%d\t%s\t0\t0\t\t\n", stage, name);
    tell(line);
    if (due("before")) end_here();
}

// The kind of a line of the journal.
static void kind_of(const char *text, size_t bytes, char *word, size_t room) {
    static const char key[] = "\"kind\":\"";
    const char *found = text == NULL ? NULL : memmem(text, bytes, key, sizeof key - 1);
    size_t n = 0;
    if (found != NULL)
        for (found += sizeof key - 1; found < text + bytes && *found != '"' && n + 1 < room; ++found) word[n++] = *found;
    word[n] = 0;
}

static int is_below(const char *path) {
    const size_t n = strlen(directory);
    return strncmp(path, directory, n) == 0 && (path[n] == '/' || path[n] == 0);
}

static void trace(const char *call, const char *path, long long address, const char *text, size_t bytes) {
    char line[8192], kind[32];
    kind_of(text, bytes, kind, sizeof kind);
    count(call);
    snprintf(line, sizeof line, "begin\t%d\t%s\t%d\t%lld\t%s\t%s\n", stage, call, call_now->number, address, path, kind);
    tell(line);
    halving = due("half");
    if (due("before")) end_here();
}

enum { unseen, traced, failed };

static int begin(const char *call, const char *path, long long address, const char *text, size_t bytes) {
    if ((!armed && traces < 0) || !is_below(path)) return unseen;
    path += strlen(directory);
    if (traces >= 0) {
        trace(call, path, address, text, bytes);
        return traced;
    }
    ++seen;
    if (seen < at || (once && seen > at)) return unseen;
    if (!fired[0]) snprintf(fired, sizeof fired, "%s %s", call, path);
    errno = code;
    return failed;
}

static int begin_at(const char *call, int descriptor, long long address, const char *text, size_t bytes) {
    char link[64], path[4096];
    if (!armed && traces < 0) return unseen;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return unseen;
    path[n] = 0;
    return begin(call, path, address, text, bytes);
}

static void done(int how) {
    const int before = errno;
    if (how != traced) return;
    tell("end\n");
    if (due("after")) end_here();
    errno = before;
}

// Half of a write, and the end.
static void halve(int descriptor, const struct iovec *pieces, int n, long long to) {
    size_t left = 0;
    if (!halving) return;
    for (int i = 0; i < n; ++i) left += pieces[i].iov_len;
    left /= 2;
    /* The kernel looks for a kill between pages: what lies in one page is written or not. A line of the journal is halved. */
    if (to >= 0) {
        const size_t in_page = (size_t)((to + (long long)left) % 4096);
        left = left > in_page ? left - in_page : 0;
    }
    for (int i = 0; i < n && left > 0; ++i) {
        const size_t bytes = pieces[i].iov_len < left ? pieces[i].iov_len : left;
        const long written = to < 0 ? syscall(SYS_write, descriptor, pieces[i].iov_base, bytes)
                                    : syscall(SYS_pwrite64, descriptor, pieces[i].iov_base, bytes, to);
        if (written != (long)bytes) abort();
        if (to >= 0) to += (long long)bytes;
        left -= bytes;
    }
    tell("half\n");
    kill_delay_us = 0;  // later the other half would follow, or the whole once more
    end_here();
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define FINISH(type, how, real)           \
    if (how == failed) return (type) - 1; \
    const type result = real;             \
    done(how);                            \
    return result

#define OPEN(name)                                                                  \
    int name(const char *path, int flags, ...) {                                    \
        va_list list;                                                               \
        va_start(list, flags);                                                      \
        mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(list, mode_t) : 0; \
        va_end(list);                                                               \
        const int how = begin("open", path, 0, NULL, 0);                            \
        FINISH(int, how, REAL(name)(path, flags, mode));                            \
    }
OPEN(open)
OPEN(open64)

int shm_open(const char *name, int flags, mode_t mode) {
    char path[512];
    snprintf(path, sizeof path, "/dev/shm%s", name);
    const int how = begin("shm_open", path, 0, NULL, 0);
    FINISH(int, how, REAL(shm_open)(name, flags, mode));
}

#define WRITE_PIECES(name, offset)                                  \
    ssize_t name(int fd, const struct iovec *v, int n, offset to) { \
        const int how = begin_at("pwritev", fd, to, NULL, 0);       \
        if (how == traced) halve(fd, v, n, to);                     \
        FINISH(ssize_t, how, REAL(name)(fd, v, n, to));             \
    }
WRITE_PIECES(pwritev, off_t)
WRITE_PIECES(pwritev64, off64_t)

ssize_t write(int fd, const void *data, size_t n) {
    const struct iovec piece = {(void *)data, n};
    const int how = begin_at("write", fd, 0, data, n);
    if (how == traced) halve(fd, &piece, 1, -1);
    FINISH(ssize_t, how, REAL(write)(fd, data, n));
}

#define BY_DESCRIPTOR(type, call, name, parameters, arguments) \
    type name parameters {                                     \
        const int how = begin_at(call, fd, 0, NULL, 0);        \
        FINISH(type, how, REAL(name) arguments);               \
    }
BY_DESCRIPTOR(int, "fsync", fsync, (int fd), (fd))
BY_DESCRIPTOR(int, "fdatasync", fdatasync, (int fd), (fd))
BY_DESCRIPTOR(int, "sync_file_range", sync_file_range, (int fd, off64_t from, off64_t n, unsigned flags), (fd, from, n, flags))
BY_DESCRIPTOR(int, "ftruncate", ftruncate, (int fd, off_t size), (fd, size))
BY_DESCRIPTOR(int, "ftruncate", ftruncate64, (int fd, off64_t size), (fd, size))
BY_DESCRIPTOR(ssize_t, "preadv", preadv, (int fd, const struct iovec *v, int n, off_t from), (fd, v, n, from))
BY_DESCRIPTOR(ssize_t, "preadv", preadv64, (int fd, const struct iovec *v, int n, off64_t from), (fd, v, n, from))
BY_DESCRIPTOR(ssize_t, "pread", pread, (int fd, void *data, size_t n, off_t from), (fd, data, n, from))
BY_DESCRIPTOR(ssize_t, "pread", pread64, (int fd, void *data, size_t n, off64_t from), (fd, data, n, from))
BY_DESCRIPTOR(int, "unlinkat", unlinkat, (int fd, const char *path, int flags), (fd, path, flags))

#define BY_PATH(call, name, parameters, arguments)     \
    int name parameters {                              \
        const int how = begin(call, path, 0, NULL, 0); \
        FINISH(int, how, REAL(name) arguments);        \
    }
BY_PATH("rename", rename, (const char *path, const char *to), (path, to))
BY_PATH("mkdir", mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH("unlink", unlink, (const char *path), (path))
BY_PATH("remove", remove, (const char *path), (path))
BY_PATH("rmdir", rmdir, (const char *path), (path))
