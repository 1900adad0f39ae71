// Which entry runs when: every repetition runs all of them, in another order.
#pragma once

#include "options.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace bench {

// Another one each time, the same in every run. What an entry leaves behind (free pages, a busy device) is for another one to bear
// each time: in an order that only rotated it was always for the same.
inline std::vector<size_t> order_of(int repetition, size_t entries) {
    std::vector<size_t> order(entries);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(repetition)));
    return order;
}

// After so many measured repetitions some entries stop, so that there is time for more of the others.
struct Race {
    int repetitions = 0;                             // 0: all go on
    std::function<std::vector<size_t>()> survivors;  // the entries that go on; the same on all ranks
};

// Calls measure(entry, repetition). Repetition 0 warms up. Then at least `least`, and more while another one as long as the longest
// so far still fits into the `seconds` since `started`.
template <typename Measure>
void repeat(const Options &options, double started, size_t entries, Measure &&measure, MPI_Comm comm = MPI_COMM_WORLD,
            const Race &race = {}) {
    const int least = options.number("least");
    const int most = options.number("most");
    const double allowed = std::stod(options.text("seconds"));
    double longest = 0;
    std::vector<size_t> going(entries);
    std::iota(going.begin(), going.end(), 0);
    for (int repetition = 0; repetition <= most; ++repetition) {
        int go = repetition <= least || MPI_Wtime() - started + longest <= allowed ? 1 : 0;
        MPI_Bcast(&go, 1, MPI_INT, 0, comm);
        if (go == 0) break;
        const double begun = MPI_Wtime();
        for (const size_t place : order_of(repetition, going.size())) measure(going[place], repetition);
        if (repetition > 0) longest = std::max(longest, MPI_Wtime() - begun);
        if (repetition > 0 && repetition == race.repetitions) {
            const auto before = static_cast<double>(going.size());
            going = race.survivors();
            longest *= static_cast<double>(going.size()) / before;
        }
    }
}

}  // namespace bench
