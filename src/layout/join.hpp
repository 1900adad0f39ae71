// Blocks of an array that lie side by side, as fewer boxes.
#pragma once

#include <vector>

#include "layout/box.hpp"

namespace tailrace {

// Boxes that hold the same elements, ascending by offset; one box where the blocks make up one. The blocks have elements and do not
// overlap. Consecutive ranks of a regular decomposition make at most 2 * dimensions - 1 boxes, however many they are. n log n.
std::vector<Box> join_blocks(std::vector<Box> blocks);

}  // namespace tailrace
