#include "layout/decomposition.hpp"

#include <algorithm>

namespace tailrace {

Box Decomposition::block(uint64_t rank) const {
    Box box{Shape(shape_.size()), Shape(shape_.size())};
    for (size_t d = shape_.size(); d-- > 0; rank /= grid_[d]) {
        const uint64_t at = rank % grid_[d];
        box.offset[d] = split_begin(shape_[d], grid_[d], at);
        box.count[d] = split_begin(shape_[d], grid_[d], at + 1) - box.offset[d];
    }
    return box;
}

// The ranks before (i, j, k) are those with a smaller i, those with the same i and a smaller j, and so on.
uint64_t Decomposition::elements_before(uint64_t rank) const {
    if (rank >= ranks()) return elements();
    uint64_t before = 0, inner = 1;  // elements of the array under one index of dimension d
    for (size_t d = shape_.size(); d-- > 0; rank /= grid_[d]) {
        const uint64_t at = rank % grid_[d], begin = split_begin(shape_[d], grid_[d], at);
        const uint64_t count = split_begin(shape_[d], grid_[d], at + 1) - begin;
        before = begin * inner + count * before;
        inner *= shape_[d];
    }
    return before;
}

Shape choose_grid(uint64_t ranks, const Shape& shape) {
    std::vector<uint64_t> factors;
    for (uint64_t factor = 2; factor * factor <= ranks; ++factor)
        for (; ranks % factor == 0; ranks /= factor) factors.push_back(factor);
    if (ranks > 1) factors.push_back(ranks);
    Shape grid(shape.size(), 1);
    for (; !factors.empty() && !grid.empty(); factors.pop_back()) {
        size_t longest = 0;
        for (size_t d = 1; d < shape.size(); ++d)
            if (static_cast<double>(shape[d]) / static_cast<double>(grid[d]) >
                static_cast<double>(shape[longest]) / static_cast<double>(grid[longest]))
                longest = d;
        grid[longest] *= factors.back();
    }
    return grid;
}

}  // namespace tailrace
