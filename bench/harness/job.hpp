// What the ranks of a bench do together: wait for each other, time a call, end.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace bench {

// Ends the whole job with a message that says what failed, where, and why.
[[noreturn]] void fail(const std::string &what);

// A barrier that leaves the cores to those who still work.
void meet(MPI_Comm comm);
// All ranks leave at the same time, awake for it. Who leaves a barrier of the MPI library may be milliseconds after another where
// ranks are more than cores.
void start_together(MPI_Comm comm);

// Seconds of the calls of a run, each from the first rank's start to the last rank's end; the ranks share the clock of one machine,
// and start together.
class Clock {
public:
    explicit Clock(MPI_Comm comm) : comm_(comm) {}

    template <typename Call>
    void time(Call &&call) {
        start_together(comm_);
        starts_.push_back(MPI_Wtime());
        call();
        ends_.push_back(MPI_Wtime());
        meet(comm_);
    }

    std::vector<double> seconds() const;  // collective; of each call

private:
    MPI_Comm comm_;
    std::vector<double> starts_, ends_;
};

}  // namespace bench
