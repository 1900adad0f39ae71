// The futex system call on a word in memory that processes share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace tailrace {

// Sleeps while the word has the value `seen`: until it is woken or `bound` (less than a second) is over. It may return earlier.
inline void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds bound) {
    const timespec timeout{0, bound.count()};
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

inline void futex_wake_one(const std::atomic<uint32_t>& word) {
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}
inline void futex_wake_all(const std::atomic<uint32_t>& word) {
    syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace tailrace
