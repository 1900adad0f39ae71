// Sleeping until a word in shared memory changes, without a look at the clock and without holding a core.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace tailrace {

// Looks for some microseconds, before it is worth to sleep. Without giving the core away: see Patience.
template <class Done>
bool look_for_a_while(Done&& done) {
    for (int look = 0; look < 5000; ++look)
        if (done()) return true;
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
