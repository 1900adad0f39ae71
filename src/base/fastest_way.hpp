// Finds the fastest of several ways to do the same work by timing them while the work is done. RATIONALE: which way of copying is
// the fastest differs by a factor of three between processors, and a program cannot ask a processor for it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/clock.hpp"

namespace tailrace {

// Thread-safe. Ways are numbers below `Ways`.
template <size_t Ways>
class FastestWay {
public:
    // The next way that was not timed often enough, else the fastest one. RATIONALE: the least of several timings counts, since a
    // process that is interrupted only takes longer.
    size_t next() const {
        size_t fastest = 0;
        for (size_t way = 0; way < Ways; ++way) {
            if (timings_[way].load(std::memory_order_relaxed) < kTimings) return way;
            if (least_[way].load(std::memory_order_relaxed) < least_[fastest].load(std::memory_order_relaxed)) fastest = way;
        }
        return fastest;
    }
    bool is_found() const {
        return std::ranges::all_of(timings_, [](const auto& timed) { return timed.load(std::memory_order_relaxed) >= kTimings; });
    }

    void add(size_t way, uint64_t bytes, double seconds) {
        const double each = seconds / static_cast<double>(bytes);
        double least = least_[way].load(std::memory_order_relaxed);
        for (bool is_least = each < least; is_least; is_least = each < least)
            if (least_[way].compare_exchange_weak(least, each, std::memory_order_relaxed)) break;
        timings_[way].fetch_add(1, std::memory_order_relaxed);
    }

private:
    static constexpr uint32_t kTimings = 3;  // of each way

    std::array<std::atomic<uint32_t>, Ways> timings_{};
    std::array<std::atomic<double>, Ways> least_ = all_slow(std::make_index_sequence<Ways>());  // seconds a byte

    template <size_t... K>
    static constexpr std::array<std::atomic<double>, Ways> all_slow(std::index_sequence<K...>) {
        return {((void)K, 1.0)...};
    }
};

}  // namespace tailrace
