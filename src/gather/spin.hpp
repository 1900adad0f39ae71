// Spinning: waiting for a condition without giving up the core.
#pragma once

#include <cstdint>
#include <thread>

#include "base/clock.hpp"
#include "gather/waiting.hpp"

namespace tailrace {

// Informs the processor core that this thread spins, so that another thread of the core is not slowed down.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

inline unsigned cores() {
    static const unsigned cores = std::thread::hardware_concurrency();
    return cores;
}

// How long it is worth to spin before sleeping. `ranks_of_node`: those that want a core of this node.
inline double spin_seconds(uint64_t ranks_of_node) {
    return ranks_of_node <= cores() ? waiting::kSpinOwnCoreS : waiting::kSpinSharedCoreS;
}

// Polls `done` for `seconds`; returns whether it became true. Never calls sched_yield: see Backoff.
template <class Done>
bool spin_until(Done&& done, double seconds) {
    const double deadline = seconds_now() + seconds;
    do {
        for (int poll = 0; poll < waiting::kPollsPerClockReading; ++poll) {
            if (done()) return true;
            cpu_relax();
        }
    } while (seconds_now() < deadline);
    return done();
}

}  // namespace tailrace
