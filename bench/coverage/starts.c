/* Starts a child that writes 70,000 bytes to child.out: starts WAY, in an empty folder. It ends when the file is whole. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pty.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

enum { BYTES = 70000, WAITS = 2000 };
#define WRITE "head -c 70000 /dev/zero > child.out"
static char *const shell[] = {"sh", "-c", WRITE, NULL};
static char *const no_variables[] = {NULL}, *const path_only[] = {"PATH=/usr/bin:/bin", NULL};
static char data[BYTES];

static void need(int good, const char *what) {
    if (good) return;
    perror(what);
    exit(1);
}

static int write_file(void *unused) {
    (void)unused;
    const int file = open("child.out", O_CREAT | O_WRONLY | O_TRUNC, 0666);
    _exit(write(file, data, BYTES) != BYTES);
}

static int become_shell(void *environment) {
    execve("/bin/sh", shell, environment);
    _exit(1);
}

static void wait_for(pid_t child) {
    int status;
    need(child > 0 && waitpid(child, &status, __WALL) == child && status == 0, "child");
}

static void child_of(pid_t child) {
    if (child == 0) write_file(NULL);
    wait_for(child);
}

static void start_vfork(void) {
    const pid_t child = vfork();
    if (child == 0) become_shell((void *)path_only);
    wait_for(child);
}

static void start_spawn(void) {
    pid_t child;
    need(posix_spawn(&child, "/bin/sh", NULL, NULL, shell, no_variables) == 0, "posix_spawn");
    wait_for(child);
}

static void start_spawnp(void) {
    pid_t child;
    need(posix_spawnp(&child, "sh", NULL, NULL, shell, path_only) == 0, "posix_spawnp");
    wait_for(child);
}

static void start_system(void) { need(system(WRITE) == 0, "system"); }

static void start_popen(void) {
    FILE *child = popen("cat > child.out", "w");
    need(child != NULL && fwrite(data, 1, BYTES, child) == BYTES && pclose(child) == 0, "popen");
}

static void start_clone(int flags, int (*run)(void *)) {
    static char stack[1 << 18] __attribute__((aligned(16)));
    wait_for(clone(run, stack + sizeof stack, flags | SIGCHLD, (void *)path_only));
}

static void start_daemon(void) {
    const pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) write_file(NULL);
        _exit(0);
    }
    wait_for(child);
}

static void start_daemon_of_library(void) {
    const pid_t child = fork();
    if (child == 0) {
        need(daemon(1, 1) == 0, "daemon");
        write_file(NULL);
    }
    wait_for(child);
}

static void start_setsid(void) {
    const pid_t child = fork();
    if (child == 0) {
        setsid();
        write_file(NULL);
    }
    wait_for(child);
}

static void start_without_rights(void) {
    const pid_t child = fork();
    if (child == 0) {
        need(chmod(".", 0777) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "setuid");
        become_shell((void *)path_only);
    }
    wait_for(child);
}

static void start_terminal(void) {
    int terminal;
    child_of(forkpty(&terminal, NULL, NULL, NULL));
}

static void start_words(void) {
    wordexp_t words;
    need(wordexp("$(" WRITE ")", &words, 0) == 0, "wordexp");
}

static void start_exec_by_number(void) {
    const pid_t child = fork();
    if (child == 0) syscall(SYS_execve, "/bin/sh", shell, path_only);
    wait_for(child);
}

static void start_exec_at_descriptor(void) {
    const pid_t child = fork();
    if (child == 0) fexecve(open("/bin/sh", O_RDONLY | O_CLOEXEC), shell, path_only);
    wait_for(child);
}

static void start_execle(void) {
    const pid_t child = fork();
    if (child == 0) execle("/bin/sh", "sh", "-c", WRITE, NULL, path_only);
    wait_for(child);
}

static void start_cleared_exec(void) {
    const pid_t child = fork();
    if (child == 0) {
        clearenv();
        execv("/bin/sh", shell);
    }
    wait_for(child);
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
#define WAY(name, start)          \
    if (strcmp(way, name) == 0) { \
        start;                    \
    }
    /* clang-format off */
    WAY("fork", child_of(fork()))
    WAY("_Fork", child_of(_Fork()))
    WAY("vfork", start_vfork())
    WAY("posix_spawn", start_spawn())
    WAY("posix_spawnp", start_spawnp())
    WAY("system", start_system())
    WAY("popen", start_popen())
    WAY("clone", start_clone(0, write_file))
    WAY("clone, then exec", start_clone(0, become_shell))
    WAY("clone with shared memory, then exec", start_clone(CLONE_VM | CLONE_VFORK, become_shell))
    WAY("daemon", start_daemon())
    WAY("daemon()", start_daemon_of_library())
    WAY("setsid", start_setsid())
    WAY("dropped privileges", start_without_rights())
    WAY("forkpty", start_terminal())
    WAY("wordexp", start_words())
    WAY("fork by number", child_of((pid_t)syscall(SYS_fork)))
    WAY("execve by number", start_exec_by_number())
    WAY("fexecve", start_exec_at_descriptor())
    WAY("execle", start_execle())
    WAY("cleared, execv", start_cleared_exec())
    WAY("cleared, system", clearenv(); start_system())
    WAY("cleared, popen", clearenv(); start_popen())
    WAY("cleared, wordexp", clearenv(); start_words())
    /* clang-format on */
    struct stat made;
    for (int i = 0; i < WAITS; ++i) {
        if (stat("child.out", &made) == 0 && made.st_size == BYTES) return 0;
        usleep(5000);
    }
    fprintf(stderr, "child.out is not whole\n");
    return 1;
}
