// Waiting for messages of other ranks without holding a core: the rank that is waited for may need it.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "gather/waiting.hpp"

namespace tailrace {

// Spins at first, then sleeps longer and longer.
class Backoff {
public:
    explicit Backoff(double spin_s = waiting::kSpinSharedCoreS) : spin_s_(spin_s) {}

    // Waits a little; never by sched_yield(). RATIONALE: since version 6.6 Linux takes a time slice from a thread each time that it
    // yields: two ranks on a core noticed the awaited event 3 to 10 ms late.
    void pause() {
        const double waited = seconds_now() - began_;
        if (waited < spin_s_) return;
        const double sleep_s = std::min(waited * waiting::kSleepFraction, waiting::kLongestSleepS);
        std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s));
    }

private:
    double spin_s_, began_ = seconds_now();
};

// Completes a request and frees it; calls pause() after each test that finds it incomplete. Returns MPI's code.
template <class Pause>
int wait_with(MPI_Request& request, Pause&& pause) {
    for (;;) {
        int done = 0;
        const int code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || done) return code;
        pause();
    }
}

// Waits for a message that may come late.
inline int wait_with_backoff(MPI_Request& request) {
    return wait_with(request, [backoff = Backoff()]() mutable { backoff.pause(); });
}

// Waits for a long message. Many MPI libraries move it piece by piece, and only while both sides are inside MPI, so that sleeping
// stops the transfer. With sleeps, a writer that received compressed chunks wrote 0.22 GB/s instead of 0.32 (bench compress).
inline int wait_without_sleep(MPI_Request& request) {
    return wait_with(request, [] { sched_yield(); });
}

}  // namespace tailrace
