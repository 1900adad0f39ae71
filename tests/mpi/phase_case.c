// phase_case FOLDER: what the ranks of a recorded run did, for tests/test_trace_mpi.py. On four ranks or more; prints nothing.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <tailrace/tailrace.h>
#include <time.h>
#include <unistd.h>

static const char data[4096];

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// Arithmetic, so that nothing of it is I/O.
static double compute(double seconds) {
    double sum = 0;
    for (const double until = now_s() + seconds; now_s() < until;)
        for (int i = 1; i < 1000; ++i) sum += 1.0 / i;
    return sum;
}

static void write_for(double seconds, int file) {
    for (const double until = now_s() + seconds; now_s() < until;)
        if (pwrite(file, data, sizeof data, 0) != (ssize_t)sizeof data) MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char path[4096];
    snprintf(path, sizeof path, "%s/rank.%d", argv[1], rank);
    const int file = open(path, O_CREAT | O_WRONLY, 0666);
    MPI_Barrier(MPI_COMM_WORLD);

    tailrace_phase_begin("8exec");
    const volatile double sum = rank == 1 ? compute(0.3) : 0;
    (void)sum;
    MPI_Barrier(MPI_COMM_WORLD);
    tailrace_phase_end();

    tailrace_phase_begin("9write");
    if (rank == 2) write_for(0.3, file);
    MPI_Allreduce(MPI_IN_PLACE, &ranks, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    tailrace_phase_end();

    MPI_Comm pair;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &pair);
    double value = rank;
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, pair);
    MPI_Comm_free(&pair);

    MPI_Datatype large; /* more bytes than an int holds; nobody else is there to get them */
    MPI_Type_contiguous(1 << 30, MPI_INT, &large);
    MPI_Type_commit(&large);
    MPI_Bcast(&value, 1, large, 0, MPI_COMM_SELF);
    MPI_Type_free(&large);

    snprintf(path, sizeof path, "%s/all", argv[1]);
    MPI_File all;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &all);
    MPI_Status status;
    MPI_File_write_at_all(all, 1000 * rank, data, 100, MPI_DOUBLE, &status);
    MPI_File_read_at(all, 1000 * rank, path, 50, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_Request later[2];
    MPI_Status statuses[2];  // MPICH's MPI_STATUSES_IGNORE makes GCC warn
    MPI_Ibarrier(MPI_COMM_WORLD, &later[0]);
    MPI_File_iwrite_at(all, 1000 * rank, data, 20, MPI_DOUBLE, &later[1]);
    MPI_Waitall(2, later, statuses);
    MPI_File_iread_at(all, 1000 * rank, path, 10, MPI_DOUBLE, later);
    MPI_Wait(later, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, later);
    MPI_Wait(later, MPI_STATUS_IGNORE);  // for ranks, not for a file
    MPI_File_close(&all);
    close(file);
    MPI_Finalize();
    return 0;
}
