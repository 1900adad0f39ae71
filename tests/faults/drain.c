/* Preloaded into tailraced: does something when the drain comes to a state, or makes one of its calls fail.
 *
 *   DRAIN_STATE="NAME N"      the Nth time that the drain comes to the state NAME ...
 *   DRAIN_COMMAND=COMMAND     ... it waits while a shell runs the command; without it, it is killed
 *   DRAIN_FAIL="N CODE"       the Nth call that changes or reads a file fails with errno CODE, once
 *   DRAIN_FIRED=FILE          exists afterwards if one of these happened
 *
 * Several threads of the drain may come here at once.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char state_name[32];
static atomic_int state_left, calls_left;
static int code;

__attribute__((constructor)) static void read_environment(void) {
    const char *at = getenv("DRAIN_STATE");
    int left = 0;
    if (at != NULL && sscanf(at, "%31s %d", state_name, &left) != 2) abort();
    state_left = at != NULL ? left : 0;
    at = getenv("DRAIN_FAIL");
    if (at != NULL && sscanf(at, "%d %d", &left, &code) != 2) abort();
    calls_left = at != NULL ? left : 0;
    unsetenv("LD_PRELOAD");
}

static void fired(void) {
    const char *file = getenv("DRAIN_FIRED");
    if (file != NULL) syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT, 0666));
}

/* Counts down to 0. Returns whether this call came to it. */
static int is_last(atomic_int *left) { return *left > 0 && atomic_fetch_sub(left, 1) == 1; }

__attribute__((visibility("default"))) void tailrace_drain_state(const char *name) {
    if (strcmp(name, state_name) != 0 || !is_last(&state_left)) return;
    fired();
    const char *command = getenv("DRAIN_COMMAND");
    if (command == NULL)
        kill(getpid(), SIGKILL);
    else if (system(command) != 0)
        abort();
}

static int fails(void) {
    if (!is_last(&calls_left)) return 0;
    fired();
    errno = code;
    return 1;
}

#define CALL(type, name, parameters, arguments) \
    type name parameters { return fails() ? (type) - 1 : ((__typeof__(&name))dlsym(RTLD_NEXT, #name))arguments; }
CALL(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))
CALL(ssize_t, pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n, at))
CALL(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at))
CALL(ssize_t, pread64, (int fd, void *data, size_t n, off64_t at), (fd, data, n, at))
CALL(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n))
CALL(int, fsync, (int fd), (fd))
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode))
CALL(int, rename, (const char *from, const char *to), (from, to))
CALL(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(int, link, (const char *from, const char *to), (from, to))
CALL(int, symlinkat, (const char *from, int fd, const char *to), (from, fd, to))
