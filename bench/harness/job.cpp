#include "job.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>

namespace bench {

void fail(const std::string &what) {
    std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

namespace {

constexpr double kLead_s = 1e-3;       // within which all ranks have seen when to start
constexpr int kLooksPerProgress = 20;  // MPI gets its turn, too: who is waited for may be waiting for a message

// Where ranks that share memory wait for each other. Not in MPI: its libraries give the core away while they wait, for which Linux
// takes a time slice from them, and with more ranks than cores the next ones to run would be late by milliseconds.
class Gate {
public:
    explicit Gate(MPI_Comm comm) : comm_(comm) {
        MPI_Comm node;
        int mine = 0;
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        MPI_Comm_size(comm, &ranks_);
        MPI_Comm_size(node, &mine);
        if (mine != ranks_) return;
        int rank = 0, unit = 0;
        MPI_Aint bytes = 0;
        MPI_Comm_rank(node, &rank);
        MPI_Win window;  // as long as the job
        void *base = nullptr;
        MPI_Win_allocate_shared(rank == 0 ? sizeof(Shared) : 0, 1, MPI_INFO_NULL, node, &base, &window);
        MPI_Win_shared_query(window, 0, &bytes, &unit, &base);
        shared_ = rank == 0 ? new (base) Shared : static_cast<Shared *>(base);
        MPI_Barrier(comm);
    }

    // When the last rank came, and a lead.
    double pass() {
        if (shared_ == nullptr) return pass_nodes();
        const uint64_t round = ++round_;
        if (shared_->arrived.fetch_add(1) + 1 == ranks_) {
            shared_->arrived = 0;
            shared_->start[round % 2] = MPI_Wtime() + kLead_s;
            shared_->round = round;
        }
        for (int look = 1; shared_->round != round; ++look) {
            usleep(50);
            int arrived = 0;
            if (look % kLooksPerProgress == 0) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &arrived, MPI_STATUS_IGNORE);
        }
        return shared_->start[round % 2];
    }

private:
    double pass_nodes() {
        MPI_Request request;
        MPI_Ibarrier(comm_, &request);
        for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) usleep(50);
        return MPI_Wtime();
    }

    struct Shared {
        std::atomic<int> arrived = 0;
        std::atomic<uint64_t> round = 0;
        double start[2] = {};
    };
    MPI_Comm comm_;
    int ranks_ = 1;
    Shared *shared_ = nullptr;  // null: the ranks are on several nodes
    uint64_t round_ = 0;
};

Gate &gate_of(MPI_Comm comm) {
    static std::map<MPI_Comm, Gate> gates;
    return gates.try_emplace(comm, comm).first->second;
}

}  // namespace

void meet(MPI_Comm comm) { gate_of(comm).pass(); }

void start_together(MPI_Comm comm) {
    const double start = gate_of(comm).pass();
    for (double left; (left = start - MPI_Wtime()) > 0;) usleep(static_cast<useconds_t>(left * 1e6) + 1);
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
