// A share: a range of an array's elements in file order (C order), as a checker or a writer owns it; and the boxes that it is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/box.hpp"

namespace tailrace {

// The positions [lo, hi) of an array of `shape` as disjoint boxes in file order; at most 2 * dimensions - 1 of them.
std::vector<Box> share_boxes(const Extents& shape, uint64_t lo, uint64_t hi);

// What two boxes have in common; without elements when they are apart.
Box intersection(const Box& a, const Box& b);

}  // namespace tailrace
