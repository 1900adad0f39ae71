// Boxes as 64-bit words of a message: offset, then count. Both sides know the number of dimensions.
#pragma once

#include <vector>

#include "layout/box.hpp"

namespace tailrace {

inline void put_box(std::vector<uint64_t>& words, const Box& box) {
    words.insert(words.end(), box.offset.begin(), box.offset.end());
    words.insert(words.end(), box.count.begin(), box.count.end());
}

// The box at words[at]; `at` is moved behind it.
inline Box take_box(const std::vector<uint64_t>& words, size_t& at, size_t dims) {
    const auto begin = words.begin() + static_cast<long>(at), middle = begin + static_cast<long>(dims);
    at += 2 * dims;
    return {Shape(begin, middle), Shape(middle, middle + static_cast<long>(dims))};
}

}  // namespace tailrace
