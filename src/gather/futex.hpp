// Sleeping until a word in shared memory changes, without a look at the clock and without holding a core.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

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

// Looks for some microseconds, before it is worth to sleep. Without giving the core away: see Patience.
constexpr double kLookSeconds = 10e-6;
template <class Done>
bool look_for_a_while(Done&& done, double seconds = kLookSeconds) {
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
