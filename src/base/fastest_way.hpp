// Finds the fastest of several ways to do the same work by timing them while the work is done. RATIONALE: ways of copying differ by
// a factor of three, in another order on each processor, and no processor reports which one is the fastest.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tailrace {

// Thread-safe. Ways are numbers below `Ways`.
template <size_t Ways>
class FastestWay {
public:
    // The next way that was not timed often enough; if there is none, the fastest one. The shortest of a way's timings counts,
    // since interruptions only make timings longer.
    size_t next() const {
        size_t fastest = 0;
        for (size_t way = 0; way < Ways; ++way) {
            if (!timings_[way].are_enough()) return way;
            if (timings_[way].least.load(kRelaxed) < timings_[fastest].least.load(kRelaxed)) fastest = way;
        }
        return fastest;
    }
    bool is_found() const { return std::ranges::all_of(timings_, &Timings::are_enough); }

    void add(size_t way, uint64_t bytes, double seconds) {
        const double each = seconds / static_cast<double>(bytes);
        double least = timings_[way].least.load(kRelaxed);
        while (each < least && !timings_[way].least.compare_exchange_weak(least, each, kRelaxed)) continue;
        timings_[way].count.fetch_add(1, kRelaxed);
    }

private:
    static constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

    struct Timings {
        static constexpr uint32_t kEnough = 3;
        std::atomic<uint32_t> count = 0;
        std::atomic<double> least = 1.0;  // seconds a byte: slower than anything

        bool are_enough() const { return count.load(kRelaxed) >= kEnough; }
    };
    std::array<Timings, Ways> timings_;
};

}  // namespace tailrace
