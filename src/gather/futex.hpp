// Waiting until a word in shared memory changes: looking for a while, then asleep.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <thread>

#include "base/clock.hpp"

namespace tailrace {

// Tells the core that we only look, so that another thread on it is not held up.
inline void only_look() {
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

// How long it is worth to look before one sleeps. Where each rank of the node has a core: about what rank 0 takes to commit a step.
// To be woken costs half as much again on a virtual machine: ten steps of 100 arrays of 64 KiB on 2 ranks took 22.9 ms instead of
// 26.0 (medians of three runs each, by turns).
inline double look_seconds(uint64_t ranks_of_node) {
    constexpr double kShort = 10e-6, kLong = 200e-6;
    return ranks_of_node <= cores() ? kLong : kShort;
}

// Without giving the core away: see Patience.
template <class Done>
bool look_for_a_while(Done&& done, double seconds) {
    const double until = seconds_now() + seconds;
    do {
        for (int look = 0; look < 16; ++look) {
            if (done()) return true;
            only_look();
        }
    } while (seconds_now() < until);
    return done();
}

// Returns when the word is no longer `seen`, when it is woken, or after a while; also without a reason.
inline void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, long at_most_ns) {
    const timespec bound{0, at_most_ns};
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAIT, seen, &bound, nullptr, 0);
}

inline void futex_wake_one(const std::atomic<uint32_t>& word) {
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}
inline void futex_wake_all(const std::atomic<uint32_t>& word) {
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tailrace
