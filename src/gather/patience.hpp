// Waiting for other ranks without holding a core: whoever they wait for may need it, or its memory bandwidth.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace tailrace {

class Patience {
public:
    Patience() = default;
    // Looks for so long before it sleeps: see look_seconds().
    explicit Patience(double look_s) : busy_s_(look_s) {}

    // Looks again at once in the beginning, then sleeps for an eighth of the time waited so far: what is waited for is found out
    // that much too late at most. It never gives the core away without sleeping: Linux since 6.6 takes a time slice from who does,
    // each time, and with two ranks on a core what they waited for was found out 3 to 10 ms too late.
    void pause() {
        const double waited = seconds_now() - began_;
        if (waited >= busy_s_) std::this_thread::sleep_for(std::chrono::duration<double>(std::min(waited / 8, kLongestSeconds)));
    }

private:
    static constexpr double kBusySeconds = 10e-6, kLongestSeconds = 500e-6;
    double busy_s_ = kBusySeconds, began_ = seconds_now();
};

// Completes a request and frees it; between two looks it calls pause(). Returns MPI's code.
template <class Pause>
int wait_between(MPI_Request& request, Pause&& pause) {
    for (;;) {
        int done = 0;
        const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done) return code;
        pause();
    }
}

// For what comes some time.
inline int wait_patiently(MPI_Request& request) {
    return wait_between(request, [patience = Patience()]() mutable { patience.pause(); });
}

// For long messages, which many MPI libraries move a piece at a time when they are asked, on both sides: without sleep in between.
// With it, one writer of compressed chunks that came as messages wrote 0.22 GB/s instead of 0.32 (bench compress).
inline int wait_moving(MPI_Request& request) {
    return wait_between(request, [] { sched_yield(); });
}

}  // namespace tailrace
