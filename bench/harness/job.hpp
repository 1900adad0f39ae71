// Collective functions of a bench's ranks: barriers, timing of a call, the end of the job.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

// Ends the whole job with a message: what failed, where, and why.
[[noreturn]] void fail(const std::string &what);

// Seconds of the machine's clock, which all its ranks share. MPI_Wtime cannot be compared between ranks: Open MPI counts from each
// process's first call.
double now_s();

// A barrier in which waiting ranks sleep, so that ranks that still work have the cores.
void meet(MPI_Comm comm);
// A barrier that all ranks leave at the same time, without sleeping just before.
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

    std::vector<double> seconds() const;  // collective; the seconds of each call

private:
    MPI_Comm comm_;
    std::vector<double> starts_, ends_;
};

}  // namespace bench
