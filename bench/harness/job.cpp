#include "job.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace bench {

void fail(const std::string &what) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

namespace {

constexpr double kLead_s = 2e-3;  // the time in which all ranks receive the start time

void wait_asleep(MPI_Request request) {
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) usleep(50);
}

}  // namespace

double now_s() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void meet(MPI_Comm comm) {
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    wait_asleep(request);
}

// A model's ranks are spread over the cores when a call begins. Here they slept, each on the core of the previous call. If three of
// four share a core by chance, a call takes half as long again. So ranks are spread before each call; neighbours share a core.
class Spread {
public:
    explicit Spread(MPI_Comm comm) {
        int rank = 0, ranks = 1;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        if (sched_getaffinity(0, sizeof allowed_, &allowed_) != 0) return;
        int left = rank * CPU_COUNT(&allowed_) / ranks, core = 0;
        while (!CPU_ISSET(core, &allowed_) || left-- > 0) ++core;
        cpu_set_t mine;
        CPU_ZERO(&mine);
        CPU_SET(core, &mine);
        moved_ = sched_setaffinity(0, sizeof mine, &mine) == 0;
    }
    // The rank may run on any core again from its next wake-up on.
    ~Spread() {
        if (moved_) sched_setaffinity(0, sizeof allowed_, &allowed_);
    }
    Spread(const Spread &) = delete;
    Spread &operator=(const Spread &) = delete;

private:
    cpu_set_t allowed_{};
    bool moved_ = false;
};

void start_together(MPI_Comm comm) {
    double start = 0;
    {
        const Spread spread(comm);
        meet(comm);  // so that no rank receives a start time that has passed
        start = now_s() + kLead_s;
        MPI_Request request;
        MPI_Ibcast(&start, 1, MPI_DOUBLE, 0, comm, &request);
        wait_asleep(request);
    }
    for (double left; (left = start - now_s()) > 0;) usleep(static_cast<useconds_t>(left * 1e6) + 1);
}

std::vector<double> Clock::seconds() const {
    std::vector<double> first = starts_, last = ends_;
    const int calls = static_cast<int>(first.size());
    MPI_Allreduce(MPI_IN_PLACE, first.data(), calls, MPI_DOUBLE, MPI_MIN, comm_);
    MPI_Allreduce(MPI_IN_PLACE, last.data(), calls, MPI_DOUBLE, MPI_MAX, comm_);
    for (size_t call = 0; call < last.size(); ++call) last[call] -= first[call];
    return last;
}

}  // namespace bench
