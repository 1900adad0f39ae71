// Whether the blocks of all ranks make up each array exactly once. Every rank checks one tile of the array, so no rank needs all
// blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "layout/box.hpp"

namespace tailrace {

struct CoverArray {
    std::string name;
    Extents shape;
    std::vector<Box> mine;
    bool gaps_allowed = false;
};

struct Cover {
    std::vector<bool> has_gaps;  // of each array; only those that may
    Ballot all;                  // what is known of all ranks, but for `any`
};

// Collective. Throws BLOCK_OVERLAP or BLOCK_GAP, on all ranks, naming variable, ranks and blocks. With it the ranks agree on what
// else they have to: as agree(), but that `any` has another use.
Cover check_cover(const Communicator& ranks, const std::vector<CoverArray>& arrays, Ballot mine = {.call = Call::plan},
                  const std::optional<Error>& error = std::nullopt, const FirstDoes& first_does = {});

}  // namespace tailrace
