// Which entry runs when: every repetition runs all of them, in an order that rotates and turns round.
#pragma once

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

}  // namespace bench
