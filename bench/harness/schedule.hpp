// The order of the entries: every repetition runs all of them, in another order.
#pragma once

#include "options.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace bench {

inline std::vector<size_t> all_of(size_t entries) {
    std::vector<size_t> all(entries);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

// The order of a repetition: a random permutation, the same in every run. An entry affects the next one (free pages, a busy
// device); if the order only rotated, each entry would always affect the same one.
inline std::vector<size_t> order_of(int repetition, size_t entries) {
    std::vector<size_t> order = all_of(entries);
    std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(repetition)));
    return order;
}

// After `repetitions` measured repetitions some entries stop, so that the others can be repeated more often.
struct Race {
    int repetitions = 0;                                                        // 0: all continue
    std::function<std::vector<size_t>(const std::vector<size_t> &)> survivors;  // the entries that continue; the same on all ranks
};

// The number of repetitions: at least `least`. More are made while one as long as the longest so far would end before `until`.
struct Pace {
    int least, most;
    double until;    // MPI_Wtime
    int before = 0;  // the number of repetitions of an earlier run, whose orders were different
};

inline Pace pace_of(const Options &options, double started) {
    return {options.number("least"), options.number("most"), started + std::stod(options.text("seconds")),
            options.number("before", 0)};
}

// Calls measure(entry, repetition) for the entries `going`, until `pace` or `race` ends them. Repetition 0 is the warm-up.
template <typename Measure>
void repeat(const Pace &pace, std::vector<size_t> going, Measure &&measure, MPI_Comm comm = MPI_COMM_WORLD, const Race &race = {}) {
    double longest = 0;
    for (int repetition = 0; repetition <= pace.most; ++repetition) {
        int go = repetition <= pace.least || MPI_Wtime() + longest <= pace.until ? 1 : 0;
        MPI_Bcast(&go, 1, MPI_INT, 0, comm);
        if (go == 0) break;
        const double begun = MPI_Wtime();
        for (const size_t place : order_of(pace.before + repetition, going.size())) measure(going[place], repetition);
        if (repetition > 0) longest = std::max(longest, MPI_Wtime() - begun);
        if (repetition > 0 && repetition == race.repetitions) {
            const auto before = static_cast<double>(going.size());
            going = race.survivors(going);
            longest *= static_cast<double>(going.size()) / before;
        }
    }
}

}  // namespace bench
