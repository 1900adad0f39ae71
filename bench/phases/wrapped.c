// wrapped STEPS: a program whose phases are known, for bench/phases.py. It calls MPI and writes through wrappers alone, and
// measures itself: each rank writes a line for each collective to truth.RANK: phase, arrival in s, seconds of I/O before it.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))
enum { kMost = 10000, kPiece = 1 << 20 };

static char piece[kPiece];
static struct {
    const char *phase;
    double arrival, io;
} lines[kMost];
static int count;
static double io;
static volatile int done;  // changes after each call, so that no call is the last thing that its function does

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

OWN static void barrier(const char *phase) {
    if (count == kMost) MPI_Abort(MPI_COMM_WORLD, 2);
    lines[count].phase = phase;
    lines[count].io = io;
    lines[count++].arrival = now_s();
    MPI_Barrier(MPI_COMM_WORLD);
    io = 0;
    ++done;
}

OWN static void put(const char *name, int number, int pieces) {
    char path[100];
    snprintf(path, sizeof path, name, number);
    const double begin = now_s();
    const int file = open(path, O_CREAT | O_RDWR, 0644);
    for (int i = 0; i < pieces; ++i)
        if (pwrite(file, piece, sizeof piece, (off_t)i * kPiece) != kPiece) MPI_Abort(MPI_COMM_WORLD, 3);
    fsync(file);
    close(file);
    io += now_s() - begin;
    ++done;
}

OWN static void advance(int rank) {
    usleep(40000 + 10000 * (unsigned)rank);
    barrier("advance");
    ++done;
}

OWN static void exchange(void) {
    usleep(40000);
    barrier("exchange");
    ++done;
}

OWN static void write_fields(int number) {
    put("field%d.dat", number, 24);
    barrier("write_fields");
    ++done;
}

// The last rank alone writes.
OWN static void write_restart(int number, int writes) {
    if (writes) put("restart%d.dat", number, 48);
    barrier("write_restart");
    ++done;
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    barrier("start");
    for (int step = 0; step < atoi(argv[1]); ++step) {
        advance(rank);
        exchange();
        write_fields(rank);
        write_restart(rank, rank == ranks - 1);
    }
    char path[100];
    snprintf(path, sizeof path, "truth.%d", rank);
    FILE *truth = fopen(path, "w");
    for (int i = 0; truth != NULL && i < count; ++i)
        fprintf(truth, "%s %.9f %.9f\n", lines[i].phase, lines[i].arrival, lines[i].io);
    if (truth == NULL || fclose(truth) != 0) MPI_Abort(MPI_COMM_WORLD, 4);
    return MPI_Finalize();
}
