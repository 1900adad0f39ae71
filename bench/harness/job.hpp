// Collective work of a bench's ranks: barriers, timing a call, ending.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

// Ends the whole job with a message: what failed, where, and why.
[[noreturn]] void fail(const std::string &what);

// Seconds of the machine's clock, which all its ranks share. MPI_Wtime is each rank's own: Open MPI counts from the process's first
// call, and differences between ranks then hold how much later one of them began.
double now_s();

// A barrier that sleeps, so that ranks that still work have the cores.
void meet(MPI_Comm comm);
// All ranks leave at the same time, and none sleeps just before it.
void start_together(MPI_Comm comm);

// Seconds of the calls of a run, each from the first rank's start to the last rank's end; the ranks start together.
class Clock {
public:
    explicit Clock(MPI_Comm comm) : comm_(comm) {}

    template <typename Call>
    void time(Call &&call) {
        start_together(comm_);
        starts_.push_back(now_s());
        call();
        ends_.push_back(now_s());
        meet(comm_);
    }

    std::vector<double> seconds() const;  // collective; of each call

private:
    MPI_Comm comm_;
    std::vector<double> starts_, ends_;
};

}  // namespace bench
