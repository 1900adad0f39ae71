/* Files by the calls of POSIX and C: posix WHAT, in an empty folder. Every byte that is written is read back; status 1: wrong. */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 100000, THREADS = 4 };
static char data[BYTES], back[BYTES];
extern char **environ;

static void need(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

static void same(const char *what) { need(memcmp(data, back, BYTES) == 0, what); }

static void descriptors(void) {
    const int file = open("a", O_RDWR | O_CREAT | O_TRUNC, 0666);
    need(write(file, data, 1000) == 1000, "write");
    need(pwrite(file, data + 1000, 49000, 1000) == 49000, "pwrite");
    need(lseek(file, 50000, SEEK_SET) == 50000, "lseek");
    struct iovec pieces[2] = {{data + 50000, 20000}, {data + 70000, 10000}};
    need(writev(file, pieces, 2) == 30000, "writev");
    struct iovec piece = {data + 80000, 10000};
    need(pwritev(file, &piece, 1, 80000) == 10000, "pwritev");
    need(syscall(SYS_pwrite64, file, data + 90000, 10000, 90000) == 10000, "syscall");
    need(fsync(file) == 0 && fdatasync(file) == 0, "fsync");
    need(pread(file, back, 40000, 0) == 40000, "pread");
    need(lseek(file, 40000, SEEK_SET) == 40000 && read(file, back + 40000, 20000) == 20000, "read");
    struct iovec places[2] = {{back + 60000, 5000}, {back + 65000, 5000}};
    need(preadv(file, places, 2, 60000) == 10000, "preadv");
    need(lseek(file, 70000, SEEK_SET) == 70000, "lseek");
    struct iovec rest = {back + 70000, 30000};
    need(readv(file, &rest, 1) == 30000, "readv");
    same("descriptors");
    const int copy = creat("b", 0666);
    off_t from = 0;
    need(sendfile(copy, file, &from, 60000) == 60000, "sendfile");
    off_t place = 60000;
    need(copy_file_range(file, &place, copy, NULL, 40000, 0) == 40000, "copy_file_range");
    need(ftruncate(copy, 99999) == 0 && dprintf(copy, "%d\n", 12345) == 6, "ftruncate, dprintf");
    need(close(copy) == 0 && rename("b", "c") == 0 && link("c", "d") == 0 && unlink("d") == 0, "names");
    char name[] = "made.XXXXXX";
    const int made = mkstemp(name);
    need(made >= 0 && close(made) == 0 && unlink(name) == 0 && mkdir("f", 0777) == 0 && rmdir("f") == 0, "made");
    need(open("absent", O_RDONLY) < 0, "absent");
    need(close(file) == 0, "close");
}

static void streams(void) {
    FILE *file = fopen("s", "w+");
    need(fwrite(data, 1, 70000, file) == 70000, "fwrite");
    for (int i = 70000; i < 80000; ++i) need(fputc(data[i], file) != EOF, "fputc");
    for (int i = 80000; i < 90000; ++i) need(putc_unlocked(data[i], file) != EOF, "putc_unlocked");
    need(fwrite(data + 90000, 10000, 1, file) == 1, "fwrite");
    need(fflush(file) == 0 && fseek(file, 30000, SEEK_SET) == 0, "fseek");
    need(fread(back + 30000, 1, 60000, file) == 60000, "fread");
    for (int i = 90000; i < 95000; ++i) back[i] = (char)fgetc(file);
    for (int i = 95000; i < 100000; ++i) back[i] = (char)getc_unlocked(file);
    need(fgetc(file) == EOF, "end");
    rewind(file);
    need(fread(back, 10, 3000, file) == 3000, "fread");
    same("streams");
    need(fseek(file, 0, SEEK_END) == 0 && fseek(file, BYTES - 1, SEEK_SET) == 0 && fseek(file, 0, SEEK_END) == 0, "fseek");
    need(fseek(file, -100, SEEK_CUR) == 0 && fread(back, 1, 200, file) == 100 && back[0] == data[BYTES - 100], "fread");
    need(fclose(file) == 0, "fclose");
    file = fopen("t", "w");
    for (int i = 0; i < 5000; ++i) fprintf(file, "%d %s\n", i, "words");
    fputs("the end\n", file);
    need(fclose(file) == 0, "fclose");
    file = fopen("t", "r");
    char word[64], line[64];
    for (int i = 0, number; i < 2500; ++i) need(fscanf(file, "%d %63s", &number, word) == 2 && number == i, "fscanf");
    need(fgets(line, sizeof line, file) != NULL, "fgets");
    for (int i = 2500; i < 5000; ++i) need(fgets(line, sizeof line, file) != NULL && atoi(line) == i, "fgets");
    char *longer = NULL;
    size_t room = 0;
    need(getline(&longer, &room, file) == 8 && strcmp(longer, "the end\n") == 0, "getline");
    free(longer);
    need(ungetc('x', file) == 'x' && fgetc(file) == 'x', "ungetc");
    need(fclose(file) == 0, "fclose");
    printf("what is in this stream at the end is written by exit\n");
}

static void *fill(void *number) {
    char name[16];
    const long my = (long)(intptr_t)number;
    snprintf(name, sizeof name, "thread.%ld", my);
    const int file = open(name, O_RDWR | O_CREAT, 0666);
    static char places[THREADS][BYTES];
    for (int i = 0; i < BYTES; i += 100) need(pwrite(file, data + i, 100, i) == 100, "pwrite");
    need(pread(file, places[my], BYTES, 0) == BYTES && memcmp(places[my], data, BYTES) == 0, name);
    close(file);
    return NULL;
}

static void threads(void) {
    pthread_t made[THREADS];
    for (long i = 0; i < THREADS; ++i) need(pthread_create(&made[i], NULL, fill, (void *)(intptr_t)i) == 0, "pthread_create");
    for (int i = 0; i < THREADS; ++i) pthread_join(made[i], NULL);
}

static void ended_well(pid_t child) {
    int status;
    need(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "child");
}

static void children(void) {
    const int file = open("shared", O_RDWR | O_CREAT, 0666);
    for (int half = 0; half < 2; ++half) {
        const pid_t child = fork();
        if (child == 0) {
            need(pwrite(file, data + half * 50000, 50000, half * 50000) == 50000, "pwrite");
            if (half == 0) _exit(0);
            exit(0);
        }
        ended_well(child);
    }
    need(read(file, back, BYTES) == BYTES, "read");
    same("children");
    close(file);
}

static void programs(void) {
    char *words[] = {"sh", "-c", "echo spawned > spawned", NULL};
    pid_t child;
    need(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0, "posix_spawn");
    ended_well(child);
    need(system("cat spawned > again") == 0, "system");
    FILE *pipe = popen("cat again", "r");
    char line[32];
    need(fgets(line, sizeof line, pipe) != NULL && strcmp(line, "spawned\n") == 0, "popen");
    need(pclose(pipe) == 0, "pclose");
    child = vfork();
    if (child == 0) {
        execl("/bin/cat", "cat", "again", (char *)NULL);
        _exit(9);
    }
    ended_well(child);
    execlp("cat", "cat", "spawned", (char *)NULL);
    need(0, "execlp");
}

static void maps(void) {
    const int file = open("mapped", O_RDWR | O_CREAT, 0666);
    need(ftruncate(file, BYTES) == 0, "ftruncate");
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    need(memory != MAP_FAILED, "mmap");
    memcpy(memory, data, BYTES);
    need(msync(memory, BYTES, MS_SYNC) == 0 && munmap(memory, BYTES) == 0, "munmap");
    need(pread(file, back, BYTES, 0) == BYTES, "pread");
    same("maps");
    close(file);
}

static void killed(void) {
    const int file = open("killed", O_RDWR | O_CREAT, 0666);
    for (int i = 0; i < BYTES; i += 100) need(pwrite(file, data + i, 100, i) == 100, "pwrite");
    need(pread(file, back, BYTES, 0) == BYTES, "pread");
    same("killed");
    raise(SIGKILL);
}

static void later(void) {
    const int file = open("later", O_RDWR | O_CREAT, 0666);
    struct aiocb asked = {.aio_fildes = file, .aio_buf = data, .aio_nbytes = BYTES};
    const struct aiocb *list[] = {&asked};
    need(aio_write(&asked) == 0, "aio_write");
    while (aio_error(&asked) != 0) aio_suspend(list, 1, NULL);
    need(aio_return(&asked) == BYTES, "aio_write");
    struct aiocb halves[2];
    struct aiocb *const both[] = {&halves[0], &halves[1]};
    for (int i = 0; i < 2; ++i)
        halves[i] = (struct aiocb){.aio_fildes = file,
                                   .aio_buf = back + i * 50000,
                                   .aio_nbytes = 50000,
                                   .aio_offset = i * 50000,
                                   .aio_lio_opcode = LIO_READ};
    need(lio_listio(LIO_WAIT, both, 2, NULL) == 0, "lio_listio");
    same("later");
    close(file);
}

int main(int count, char **words) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"descriptors", descriptors}, {"streams", streams}, {"threads", threads}, {"children", children},
               {"programs", programs},       {"maps", maps},       {"killed", killed},   {"later", later}};
    for (int i = 0; i < BYTES; ++i) data[i] = (char)('a' + (i * 7 + i / 1000) % 26);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (count == 2 && strcmp(words[1], all[i].name) == 0) {
            all[i].run();
            return 0;
        }
    fprintf(stderr, "posix descriptors|streams|threads|children|programs|maps|killed|later\n");
    return 2;
}
