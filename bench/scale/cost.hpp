// The cost of a call: its time, and the most memory that it holds at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/clock.hpp"

namespace tailrace::bench {

struct Cost {
    double seconds = 0;
    uint64_t peak_bytes = 0;
};

// Bytes that the process has allocated now, the most since forget_peak(), and a new start of this count. cost.cpp counts every
// allocation of the process, also those of HDF5.
uint64_t heap_bytes();
uint64_t peak_heap_bytes();
void forget_peak();

// The cost of `call`. Memory is that of the first call. Time is the median over several samples, in each of which the call is
// repeated for a millisecond. A slow call is made only once.
template <class Call>
Cost cost_of(Call&& call) {
    constexpr double kSampleSeconds = 1e-3, kLongSeconds = 0.05;
    constexpr int kSamples = 5;
    const uint64_t before = heap_bytes();
    forget_peak();
    const double start = seconds_now();
    call();
    Cost cost{seconds_now() - start, peak_heap_bytes() - before};
    if (cost.seconds > kLongSeconds) return cost;
    const int calls = 1 + static_cast<int>(kSampleSeconds / std::max(cost.seconds, 1e-9));
    std::array<double, kSamples> seconds{};
    for (double& of_one : seconds) {
        Stopwatch watch;
        for (int i = 0; i < calls; ++i) call();
        of_one = watch.lap() / calls;
    }
    std::sort(seconds.begin(), seconds.end());
    cost.seconds = seconds[kSamples / 2];
    return cost;
}

}  // namespace tailrace::bench
