// Which entry runs when: every repetition runs all of them, in another order.
#pragma once

#include "options.hpp"

#include <algorithm>
#include <cstddef>
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

// Calls measure(entry, repetition). Repetition 0 warms up. Then at least `least`, and more while another one as long as the longest
// so far still fits into the `seconds` since `started`.
template <typename Measure>
void repeat(const Options &options, double started, size_t entries, Measure &&measure, MPI_Comm comm = MPI_COMM_WORLD) {
    const int least = options.number("least");
    const int most = options.number("most");
    const double allowed = std::stod(options.text("seconds"));
    double longest = 0;
    for (int repetition = 0; repetition <= most; ++repetition) {
        int go = repetition <= least || MPI_Wtime() - started + longest <= allowed ? 1 : 0;
        MPI_Bcast(&go, 1, MPI_INT, 0, comm);
        if (go == 0) break;
        const double begun = MPI_Wtime();
        for (const size_t which : order_of(repetition, entries)) measure(which, repetition);
        if (repetition > 0) longest = std::max(longest, MPI_Wtime() - begun);
    }
}

}  // namespace bench
