// Which entry runs when: every repetition runs all of them, in an order that rotates and turns round.
#pragma once

#include "options.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

// Odd repetitions run backwards, so that an entry also gets another predecessor.
inline std::vector<size_t> order_of(int repetition, size_t entries) {
    std::vector<size_t> order;
    const size_t first = (static_cast<size_t>(repetition) * (entries / 3 + 1)) % entries;
    for (size_t i = 0; i < entries; ++i) {
        const size_t at = repetition % 2 == 0 ? first + i : first + entries - i;
        order.push_back(at % entries);
    }
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
