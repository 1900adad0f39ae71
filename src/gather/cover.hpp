// Whether the blocks of all ranks make up each array exactly once. Every rank checks one tile of the array, so no rank needs all
// blocks.
#pragma once

#include <string>
#include <vector>

#include "gather/communicator.hpp"
#include "layout/box.hpp"

namespace tailrace {

struct CoverArray {
    std::string name;
    Extents shape;
    std::vector<Box> mine;
    bool gaps_allowed = false;
};

// Collective. Which arrays have gaps (only those that may). Throws BLOCK_OVERLAP or BLOCK_GAP, on all ranks, naming variable, ranks
// and blocks.
std::vector<bool> check_cover(const Communicator& ranks, const std::vector<CoverArray>& arrays);

}  // namespace tailrace
