// Joins blocks of an array that are side by side to fewer boxes.
#pragma once

#include <vector>

#include "layout/box.hpp"

namespace tailrace {

// Returns boxes with the same elements, ascending by offset; one box if the blocks make up one. Each block has elements, and none
// overlap. The blocks of consecutive ranks of a regular decomposition make at most 2 * dimensions - 1 boxes. Takes n log n time.
std::vector<Box> join_blocks(std::vector<Box> blocks);

}  // namespace tailrace
