/* Calls that a test expects in the log: trace_case WHAT FOLDER [NUMBER]. Prints nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char data[4096];

static int check(long result, const char *what) {
    if (result >= 0) return (int)result;
    perror(what);
    exit(2);
}

static void calls(void) {
    const int file = check(open("a.dat", O_RDWR | O_CREAT | O_TRUNC, 0666), "open");
    check(write(file, data, 100), "write");
    check(pwrite(file, data, 200, 1000), "pwrite");
    struct iovec pieces[2] = {{data, 10}, {data, 20}};
    check(pwritev(file, pieces, 2, 5000), "pwritev");
    check((int)lseek(file, 50, SEEK_SET), "lseek");
    check(read(file, data, 4096), "read");
    check(pread(file, data, 64, 1000), "pread");
    check(fsync(file), "fsync");
    check(ftruncate(file, 2000), "ftruncate");
    const int copy = check(dup(file), "dup");
    check(write(copy, data, 1), "write");
    check(close(copy), "close");
    check(close(file), "close");
    struct stat status;
    check(stat("./a.dat", &status), "stat");
    errno = 0;
    if (open("absent/b.dat", O_RDONLY) != -1 || errno != ENOENT) exit(3);
    check(mkdir("folder", 0777), "mkdir");
    check(rename("a.dat", "folder/c.dat"), "rename");
    check(unlink("folder/c.dat"), "unlink");
    check(rmdir("folder"), "rmdir");
    FILE *stream = fopen("s.txt", "w");
    if (stream == NULL) exit(4);
    fprintf(stream, "%d\n", 12345);
    fwrite(data, 8, 3, stream);
    check(fclose(stream), "fclose");
}

static long of_thread;

static void *write_many(void *number) {
    char name[32];
    snprintf(name, sizeof name, "thread.%ld", (long)(intptr_t)number);
    const int file = check(open(name, O_RDWR | O_CREAT, 0666), "open");
    for (long i = 0; i < of_thread; ++i) check(pwrite(file, data, 8, 8 * i), "pwrite");
    check(close(file), "close");
    return NULL;
}

static void threads(long number) {
    pthread_t made[8];
    of_thread = number;
    for (long t = 0; t < 8; ++t) pthread_create(&made[t], NULL, write_many, (void *)(intptr_t)t);
    for (int t = 0; t < 8; ++t) pthread_join(made[t], NULL);
}

/* One after the other; each writes to a file of all. */
static int of_all;

static void *write_once(void *number) {
    check(pwrite(of_all, data, 8, 8 * (long)(intptr_t)number), "pwrite");
    return NULL;
}

static void short_threads(long number) {
    of_all = check(open("all", O_RDWR | O_CREAT, 0666), "open");
    for (long t = 0; t < number; ++t) {
        pthread_t made;
        pthread_create(&made, NULL, write_once, (void *)(intptr_t)t);
        pthread_join(made, NULL);
    }
}

static void wait_for(pid_t child) {
    int status;
    check(waitpid(child, &status, 0), "waitpid");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) exit(5);
}

/* Children of every kind; each writes another number of times. */
static void children(void) {
    const int file = check(open("children.dat", O_RDWR | O_CREAT, 0666), "open");
    check(pwrite(file, data, 1, 0), "pwrite");
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; ++i) check(pwrite(file, data, 1, i), "pwrite");
        _exit(0);
    }
    wait_for(child);
    /* Without the C library's knowledge. */
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        for (int i = 0; i < 20; ++i) check(pwrite(file, data, 1, i), "pwrite");
        _exit(0);
    }
    wait_for(child);
    child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    wait_for(child);
    child = vfork();
    if (child == 0) _exit(0);
    wait_for(child);
    check(pwrite(file, data, 2, 0), "pwrite");
}

/* A record for each call, and beside it, in memory that outlives us, how many have come back. */
static void count(void) {
    const int kept = check(open("count", O_RDWR | O_CREAT, 0666), "open");
    check(ftruncate(kept, 4096), "ftruncate");
    volatile uint64_t *done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, kept, 0);
    if (done == MAP_FAILED) exit(6);
    const int file = check(open("written", O_RDWR | O_CREAT, 0666), "open");
    for (;;) {
        check(pwrite(file, data, 8, (off_t)(8 * *done % 4096)), "pwrite");
        ++*done;
    }
}

/* As daemons do. */
static void close_all(long number) {
    for (int descriptor = 3; descriptor < 2048; ++descriptor) syscall(SYS_close, descriptor);
    const int file = check(open("closed", O_RDWR | O_CREAT, 0666), "open");
    for (long i = 0; i < number; ++i) check(pwrite(file, data, 4, 4 * i), "pwrite");
    closefrom(3);
    const int again = check(open("again", O_RDWR | O_CREAT, 0666), "open");
    for (long i = 0; i < number; ++i) check(pwrite(again, data, 4, 4 * i), "pwrite");
    struct stat status;
    check(fstat(again, &status), "fstat");
    if (status.st_size != 4 * number) exit(7);
}

static int in_handler;
static void handle(int number) {
    (void)number;
    for (int i = 0; i < 3; ++i) check(pwrite(in_handler, data, 2, 0), "pwrite");
}

/* Calls of a signal handler in between. */
static void signals(long number) {
    in_handler = check(open("handler", O_RDWR | O_CREAT, 0666), "open");
    const int file = check(open("signals", O_RDWR | O_CREAT, 0666), "open");
    signal(SIGALRM, handle);
    for (long i = 0; i < number; ++i) {
        if (i % 10 == 0) raise(SIGALRM);
        check(pwrite(file, data, 1, i), "pwrite");
    }
}

/* For a while no descriptor is left, neither for the program nor for its log. */
static void descriptors(long number) {
    const int file = check(open("used", O_RDWR | O_CREAT, 0666), "open");
    const struct rlimit most = {64, 64};
    check(setrlimit(RLIMIT_NOFILE, &most), "setrlimit");
    while (dup(file) >= 0) continue;
    for (long i = 0; i < number; ++i) check(pwrite(file, data, 2, i), "pwrite");
    closefrom(file + 1);
    for (long i = 0; i < number; ++i) check(pwrite(file, data, 3, i), "pwrite");
}

/* So many files, each when the log of events has long been full. */
static void many_files(long number) {
    const int file = check(open("first", O_RDWR | O_CREAT, 0666), "open");
    for (int i = 0; i < 40000; ++i) check(pwrite(file, data, 1, i), "pwrite");
    for (long i = 0; i < number; ++i) {
        char name[32];
        snprintf(name, sizeof name, "late.%ld", i);
        const int late = check(open(name, O_RDWR | O_CREAT, 0666), "open");
        check(pwrite(late, data, 10, 0), "pwrite");
        check(close(late), "close");
    }
}

/* A file without a name, and descriptors that come by syscall(). */
static void by_number(void) {
    const int hidden = check(open(".", O_TMPFILE | O_RDWR, 0600), "open");
    check(write(hidden, data, 7), "write");
    const int one = check(open("one", O_RDWR | O_CREAT, 0666), "open"), two = check(open("two", O_RDWR | O_CREAT, 0666), "open");
    check(write(two, data, 2), "write");
    check(syscall(SYS_dup2, one, two), "dup2");
    check(write(two, data, 1), "write");
    struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0666};
    check(write(check(syscall(SYS_openat2, AT_FDCWD, "three", &how, sizeof how), "openat2"), data, 3), "write");
}

/* What the loader has to say is still there after a call that is made for the first time. */
static void loader(void) {
    if (dlopen("/absent/library.so", RTLD_NOW) != NULL) exit(10);
    FILE *stream = fopen("first", "w");
    if (stream == NULL || fclose(stream) != 0) exit(11);
    if (dlerror() == NULL) exit(12);
}

/* Where the program is, and programs that there are not. */
static void places(void) {
    check(mkdir("below", 0777), "mkdir");
    check(chdir("below"), "chdir");
    if (chdir("absent") == 0) exit(8);
    if (execl("/absent/program", "program", (char *)NULL) != -1) exit(9);
    check(chdir(".."), "chdir");
}

int main(int argc, char **argv) {
    if (argc < 3 || chdir(argv[2]) != 0) return 1;
    const long number = argc > 3 ? atol(argv[3]) : 0;
    const char *what = argv[1];
    if (strcmp(what, "calls") == 0) calls();
    if (strcmp(what, "threads") == 0) threads(number);
    if (strcmp(what, "short-threads") == 0) short_threads(number);
    if (strcmp(what, "children") == 0) children();
    if (strcmp(what, "count") == 0) count();
    if (strcmp(what, "close-all") == 0) close_all(number);
    if (strcmp(what, "signals") == 0) signals(number);
    if (strcmp(what, "descriptors") == 0) descriptors(number);
    if (strcmp(what, "many-files") == 0) many_files(number);
    if (strcmp(what, "places") == 0) places();
    if (strcmp(what, "by-number") == 0) by_number();
    if (strcmp(what, "loader") == 0) loader();
    return 0;
}
