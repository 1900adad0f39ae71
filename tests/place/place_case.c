/* Calls with paths, and what they answer: place_case WHAT. A test runs it with and without rules and compares what it prints. Rules
 * are for data/NAME.NUMBER.NUMBER; the working directory is empty at first. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static void show(const char *what, long result) {
    if (result < 0)
        printf("%s: %s\n", what, strerror(errno));
    else
        printf("%s: %ld\n", what, result);
}
#define SHOW(call) show(#call, (long)(call))
#define HAS(call) show(#call, (call) != NULL ? 0 : -1)

static int is_shown(const struct dirent *entry) { return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0; }

static void list(const char *folder) {
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_shown, alphasort);
    printf("in %s: %d:", folder, count);
    for (int i = 0; i < count; ++i) {
        printf(" %s%s", entries[i]->d_name, entries[i]->d_type == DT_DIR ? "/" : "");
        free(entries[i]);
    }
    free(entries);
    DIR *directory = opendir(folder);
    int read = 0;
    while (directory != NULL && readdir(directory) != NULL) ++read;
    printf(", by readdir %d\n", read);
    if (directory != NULL) closedir(directory);
}

static void put(const char *path, const char *text) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    show(path, file < 0 ? -1 : (long)write(file, text, strlen(text)));
    if (file >= 0) close(file);
}

static void get(const char *path) {
    char text[100] = "";
    const int file = open(path, O_RDONLY);
    if (file >= 0) {
        text[read(file, text, sizeof text - 1)] = '\0';
        close(file);
    }
    printf("%s has: %s\n", path, file < 0 ? strerror(errno) : text);
}

static int opens(int file) {
    if (file >= 0) close(file);
    return file < 0 ? -1 : 0;
}

static void opening(void) {
    SHOW(mkdir("data", 0755));
    const int folder = open("data", O_RDONLY | O_DIRECTORY);
    SHOW(opens(open("data/a.0.1", O_RDONLY)));
    SHOW(opens(open("data/a.0.1", O_WRONLY | O_CREAT | O_EXCL, 0600)));
    SHOW(opens(open("data/a.0.1", O_WRONLY | O_CREAT | O_EXCL, 0600)));
    SHOW(opens(open64("data/a.0.2", O_WRONLY | O_CREAT, 0600)));
    SHOW(opens(creat("data/a.0.3", 0600)));
    SHOW(opens(openat(folder, "a.0.4", O_WRONLY | O_CREAT, 0600)));
    SHOW(opens(openat(folder, "../data/a.0.5", O_WRONLY | O_CREAT, 0600)));
    SHOW(opens(open(".//data/./a.0.6", O_WRONLY | O_CREAT, 0600)));
    SHOW(opens(open("data/a.0.7/", O_WRONLY | O_CREAT, 0600)));
    SHOW(opens(open("none/a.0.7", O_WRONLY | O_CREAT, 0600)));
    SHOW(opens(open("data/a.0.1", O_RDONLY | O_DIRECTORY)));
    const char *modes[] = {"r", "r+", "w", "a", "w+", "wx", "rb"};
    for (int i = 0; i < 7; ++i) {
        char name[40];
        snprintf(name, sizeof name, "data/f.1.%d", i);
        FILE *stream = fopen(name, modes[i]);
        show(name, stream == NULL ? -1 : fprintf(stream, "text"));
        if (stream != NULL) stream = freopen(name, "r", stream);
        char text[10];
        show(name, stream != NULL && fgets(text, sizeof text, stream) != NULL ? (long)strlen(text) : -2 + 2);
        if (stream != NULL) fclose(stream);
    }
    FILE *again = fopen("data/f.1.2", "r");
    again = freopen("data/f.1.99", "w", again);
    show("freopen", again == NULL ? -1 : fprintf(again, "more"));
    if (again != NULL) fclose(again);
    char name[] = "data/t.1.XXXXXX";
    SHOW(opens(mkstemp(name)));
    SHOW(unlink(name));
    SHOW(chdir("data"));
    put("b.0.1", "relative");
    SHOW(fchdir(folder));
    get("b.0.1");
    SHOW(chdir(".."));
    get("data/b.0.1");
    SHOW(symlink("data", "other"));
    get("other/b.0.1");
    put("other/b.0.2", "through a link");
    get("data/b.0.2");
    close(folder);
    list("data");
    list(".");
}

static void attributes(void) {
    SHOW(mkdir("data", 0755));
    put("data/a.0.1", "12345");
    const int folder = open("data", O_RDONLY | O_DIRECTORY);
    struct stat file;
    struct statx more;
    struct statfs system;
    char text[PATH_MAX];
    SHOW(stat("data/a.0.1", &file) == 0 ? file.st_size : -1);
    SHOW(lstat("data/a.0.1", &file) == 0 ? file.st_size : -1);
    SHOW(fstatat(folder, "a.0.1", &file, 0) == 0 ? file.st_size : -1);
    SHOW(statx(AT_FDCWD, "data/a.0.1", 0, STATX_SIZE, &more) == 0 ? (long)more.stx_size : -1);
    SHOW(stat("data/a.0.9", &file));
    SHOW(statfs("data/a.0.1", &system));
    SHOW(access("data/a.0.1", R_OK));
    SHOW(access("data/a.0.9", R_OK));
    SHOW(faccessat(folder, "a.0.1", W_OK, 0));
    SHOW(eaccess("data/a.0.1", X_OK));
    SHOW(chmod("data/a.0.1", 0640));
    SHOW(fchmodat(folder, "a.0.1", 0600, 0));
    SHOW(chown("data/a.0.1", getuid(), getgid()));
    SHOW(lchown("data/a.0.1", getuid(), getgid()));
    SHOW(truncate("data/a.0.1", 3));
    const struct timespec times[2] = {{100, 5}, {200, 6}};
    SHOW(utimensat(folder, "a.0.1", times, 0));
    SHOW(stat("data/a.0.1", &file) == 0 ? file.st_mtim.tv_sec * 10 + file.st_mtim.tv_nsec : -1);
    const struct timeval both[2] = {{300, 0}, {400, 0}};
    SHOW(utimes("data/a.0.1", both));
    const struct utimbuf old = {500, 600};
    SHOW(utime("data/a.0.1", &old));
    SHOW(stat("data/a.0.1", &file) == 0 ? (long)file.st_mtime + (long)file.st_mode : -1);
    SHOW(setxattr("data/a.0.1", "user.kind", "plain", 5, 0));
    SHOW(getxattr("data/a.0.1", "user.kind", text, sizeof text));
    SHOW(lgetxattr("data/a.0.1", "user.none", text, sizeof text));
    SHOW(listxattr("data/a.0.1", text, sizeof text));
    SHOW(removexattr("data/a.0.1", "user.kind"));
    char here[PATH_MAX];
    HAS(getcwd(here, sizeof here));
    HAS(realpath("data/../data/a.0.1", text));
    printf("%s\n", strcmp(text + strlen(here), "/data/a.0.1") == 0 ? "logical" : text);
    HAS(realpath("data/a.0.9", text));
    const int open_file = open("data/a.0.1", O_RDONLY);
    snprintf(here, 40, "/proc/self/fd/%d", open_file);
    memset(text, 0, sizeof text);
    show("readlink", readlink(here, text, sizeof text) > 0 ? 0 : -1);
    printf("%s\n", strcmp(text + strlen(text) - 11, "/data/a.0.1") == 0 ? "logical" : text);
    SHOW(readlink("data/a.0.1", text, sizeof text));
    close(folder);
}

static void names(void) {
    SHOW(mkdir("data", 0755));
    put("data/a.0.1", "one");
    put("data/b.0.1", "two");
    put("plain", "three");
    const int folder = open("data", O_RDONLY | O_DIRECTORY);
    SHOW(rename("data/a.0.1", "data/a.7.1"));
    get("data/a.7.1");
    get("data/a.0.1");
    SHOW(renameat(folder, "a.7.1", AT_FDCWD, "outside"));
    SHOW(rename("outside", "data/c.1.1"));
    SHOW(rename("data/c.1.1", "data/b.0.1"));
    get("data/b.0.1");
    SHOW(renameat2(AT_FDCWD, "plain", folder, "b.0.1", RENAME_NOREPLACE));
    SHOW(rename("data/none.0.1", "data/x.0.1"));
    SHOW(link("data/b.0.1", "data/d.2.1"));
    SHOW(linkat(folder, "d.2.1", AT_FDCWD, "linked", 0));
    SHOW(link("data/b.0.1", "data/d.2.1"));
    get("linked");
    SHOW(symlink("../plain", "data/s.0.1"));
    SHOW(symlink("../plain", "data/b.0.1"));
    get("data/s.0.1");
    char text[100];
    SHOW(readlink("data/s.0.1", text, sizeof text));
    SHOW(mkdir("data/e.0.1", 0755));
    SHOW(mkdir("data/b.0.1", 0755));
    put("data/e.0.1/inner", "four");
    get("data/e.0.1/inner");
    SHOW(rename("data/b.0.1", "data/e.0.1"));
    SHOW(rename("data/e.0.1", "data/g.0.1"));
    get("data/g.0.1/inner");
    SHOW(mkfifo("data/p.0.1", 0644));
    list("data");
    SHOW(rmdir("data"));
    SHOW(rmdir("data/b.0.1"));
    SHOW(unlink("data/b.0.1"));
    SHOW(unlink("data/b.0.1"));
    SHOW(unlinkat(folder, "d.2.1", 0));
    SHOW(remove("data/s.0.1"));
    SHOW(remove("data/p.0.1"));
    SHOW(unlink("data/g.0.1/inner"));
    SHOW(remove("data/g.0.1"));
    list("data");
    put("data/h.4.1", "five");
    SHOW(rename("data", "moved"));
    list(".");
    list("moved");
    get("moved/h.4.1");
    SHOW(rename("moved", "data"));
    get("data/h.4.1");
    put("data/h.4.1", "six");
    list("data");
    SHOW(unlink("data/h.4.1"));
    put("data/h.5.1", "seven");
    SHOW(unlink("data/h.5.1"));
    SHOW(rmdir("data"));
    list(".");
    close(folder);
}

static int print_visit(const char *path, const struct stat *file, int kind, struct FTW *at) {
    static char lines[100][200];
    static int count = 0;
    if (path != NULL) {
        snprintf(lines[count++], sizeof lines[0], "%s %s kind %d level %d size %ld", path, path + at->base, kind, at->level,
                 kind == FTW_F ? (long)file->st_size : 0);
        return 0;
    }
    qsort(lines, (size_t)count, sizeof lines[0], (int (*)(const void *, const void *))strcmp);
    for (int i = 0; i < count; ++i) puts(lines[i]);
    count = 0;
    return 0;
}

static int visited = 0;
static int count_visit(const char *path, const struct stat *file, int kind) {
    visited += path != NULL && file != NULL && kind == FTW_F;
    return 0;
}

static void listing(void) {
    SHOW(mkdir("data", 0755));
    SHOW(mkdir("data/folder", 0755));
    put("data/folder/x.0.1", "not placed");
    for (int i = 0; i < 30; ++i) {
        char name[40];
        snprintf(name, sizeof name, "data/a.%d.%04d", i % 3, i * 150);
        put(name, "text");
    }
    put("data/notes", "flat");
    SHOW(symlink("none", "data/link"));
    list("data");
    glob_t found;
    SHOW(glob("data/a.1.*", 0, NULL, &found));
    for (size_t i = 0; i < found.gl_pathc; ++i) puts(found.gl_pathv[i]);
    globfree(&found);
    SHOW(glob("*/[fn]*", 0, NULL, &found));
    for (size_t i = 0; i < found.gl_pathc; ++i) puts(found.gl_pathv[i]);
    globfree(&found);
    SHOW(nftw("data", print_visit, 10, 0));
    print_visit(NULL, NULL, 0, NULL);
    SHOW(nftw("none", print_visit, 10, 0));
    SHOW(ftw("data", count_visit, 10));
    SHOW(visited);
    DIR *directory = opendir("data");
    readdir(directory);
    readdir(directory);
    const long place = telldir(directory);
    char name[256];
    strcpy(name, readdir(directory)->d_name);
    while (readdir(directory) != NULL) {}
    seekdir(directory, place);
    printf("seekdir: %d\n", strcmp(readdir(directory)->d_name, name));
    int before = 0, after = 0;
    rewinddir(directory);
    while (readdir(directory) != NULL) ++before;
    SHOW(unlink("data/a.1.0150"));
    rewinddir(directory);
    while (readdir(directory) != NULL) ++after;
    printf("rewinddir: %d\n", before - after);
    SHOW(dirfd(directory) >= 0);
    closedir(directory);
    const int folder = open("data", O_RDONLY | O_DIRECTORY);
    DIR *by_descriptor = fdopendir(folder);
    int read = 0;
    while (readdir(by_descriptor) != NULL) ++read;
    printf("fdopendir: %d\n", read);
    closedir(by_descriptor);
}

static void *many(void *number) {
    for (int i = 0; i < 200; ++i) {
        char name[40];
        snprintf(name, sizeof name, "data/t%ld.%d.1", (long)number, i);
        const int file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (file < 0 || close(file) != 0) puts(name);
    }
    return NULL;
}

static void threads(void) {
    SHOW(mkdir("data", 0755));
    pthread_t all[4];
    for (long i = 0; i < 4; ++i) pthread_create(&all[i], NULL, many, (void *)i);
    for (int i = 0; i < 4; ++i) pthread_join(all[i], NULL);
    list("data");
    fflush(stdout);
    if (fork() == 0) {
        put("data/child.0.1", "of a child");
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    get("data/child.0.1");
    put("data/run.0.1", "#!/bin/sh\necho executed\n");
    SHOW(chmod("data/run.0.1", 0755));
    fflush(stdout);
    SHOW(system("data/run.0.1"));
    SHOW(system("env -i PATH=/bin:/usr/bin sh -c 'cat data/child.0.1; echo; data/run.0.1'"));
}

static int visit_at_mark(const char *path, const struct stat *file, int kind, struct FTW *at) {
    (void)file;
    if (kind == FTW_F && strcmp(path + at->base, "mark") == 0) put("walk.0.1", "within a walk");
    return 0;
}

static void *with_own_folder(void *unused) {
    SHOW(unshare(CLONE_FS));
    SHOW(chdir("data"));
    put("thread.0.1", "of a thread");
    return unused;
}

static int of_clone(void *unused) {
    (void)unused;
    if (chdir("data") == 0) close(open("clone.0.1", O_WRONLY | O_CREAT, 0600));
    return 0;
}

/* Each way to another working directory, then a file in it and one in the directory before. */
static void folders(void) {
    SHOW(mkdir("data", 0755));
    const int top = open(".", O_RDONLY | O_DIRECTORY), data = open("data", O_RDONLY | O_DIRECTORY);
    put("data/mark", "");
    put("top.0.1", "");
    SHOW(chdir("data"));
    put("a.0.1", "chdir");
    SHOW(syscall(SYS_chdir, ".."));
    put("top.0.2", "");
    SHOW(fchdir(data));
    put("a.0.2", "fchdir");
    SHOW(syscall(SYS_fchdir, top));
    put("top.0.3", "");
    SHOW(nftw(".", visit_at_mark, 5, FTW_CHDIR | FTW_PHYS));
    put("top.0.4", "");
    fflush(stdout);
    if (fork() == 0) {
        if (chdir("data") == 0) close(open("fork.0.1", O_WRONLY | O_CREAT, 0600));
        _exit(0);
    }
    wait(NULL);
    put("top.0.5", "");
    if (vfork() == 0) {
        if (chdir("data") == 0) close(open("vfork.0.1", O_WRONLY | O_CREAT, 0600));
        _exit(0);
    }
    wait(NULL);
    put("top.0.6", "");
    pthread_t thread;
    pthread_create(&thread, NULL, with_own_folder, NULL);
    pthread_join(thread, NULL);
    put("top.0.7", "");
    static char stack[1 << 18] __attribute__((aligned(64)));
    SHOW(clone(of_clone, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) > 0);
    wait(NULL);
    put("top.0.8", "");
    list(".");
    list("data");
}

/* The working directory gets names which have a rule, and which have none. */
static void renamed(void) {
    SHOW(mkdir("old", 0755));
    SHOW(chdir("old"));
    put("a.0.1", "in old");
    SHOW(rename("../old", "../data"));
    put("a.0.2", "in data");
    SHOW(rename("../data", "../new"));
    put("a.0.3", "in new");
    SHOW(syscall(SYS_rename, "../new", "../data"));
    put("a.0.4", "in data again");
    list(".");
}

static long ns_a_call(const struct timespec *begin, long calls) {
    struct timespec end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return ((end.tv_sec - begin->tv_sec) * 1000000000 + end.tv_nsec - begin->tv_nsec) / calls;
}

#define TIMED(what)                                     \
    do {                                                \
        struct timespec begin;                          \
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin); \
        for (long i = 0; i < calls; ++i) what;          \
        printf("%ld ", ns_a_call(&begin, calls));       \
    } while (0)

/* Prints nanoseconds of processor time a call: stat, open with close, stat of another path, write and read by a descriptor. */
static void timing(long calls) {
    struct stat file;
    char byte = 'x';
    mkdir("data", 0755);
    const int descriptor = open("data/a.0.1", O_RDWR | O_CREAT, 0600);
    TIMED(if (stat("data/a.0.1", &file) != 0) exit(3));
    TIMED(close(open("data/a.0.1", O_WRONLY | O_CREAT, 0600)));
    TIMED(if (stat("/usr/lib", &file) != 0) exit(3));
    TIMED(if (pwrite(descriptor, &byte, 1, 0) != 1) exit(3));
    TIMED(if (pread(descriptor, &byte, 1, 0) != 1) exit(3));
    close(descriptor);
}

int main(int argc, char **argv) {
    umask(022);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "opening") == 0)
        opening();
    else if (strcmp(what, "attributes") == 0)
        attributes();
    else if (strcmp(what, "names") == 0)
        names();
    else if (strcmp(what, "listing") == 0)
        listing();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "folders") == 0)
        folders();
    else if (strcmp(what, "renamed") == 0)
        renamed();
    else if (strcmp(what, "timing") == 0)
        timing(argc > 2 ? atol(argv[2]) : 1000);
    else
        return 1;
    return 0;
}
