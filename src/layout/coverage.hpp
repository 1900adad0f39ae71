// Checks that the blocks of all ranks make up an array. Each checker checks its slab, so that no rank needs all blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/box.hpp"

namespace tailrace {

struct OwnedBox {
    uint64_t rank = 0;
    Box box;
    bool operator==(const OwnedBox&) const = default;
};

struct CoverageFault {
    enum class Kind { overlap, gap } kind = Kind::overlap;
    OwnedBox a, b;  // overlap: two boxes with an element of the slab in common, the lower rank first
    Shape missing;  // gap: the index of the first element of the slab, in file order, that no box has
};

// Checks that the boxes cover positions [lo, hi) of an array of `shape` exactly once; nothing when they do. An overlap is reported
// before a gap. `boxes` holds at least all boxes that touch the slab, each inside the shape; empty ones are ignored. With
// `gaps_allowed` only overlaps are faults. The check is exact. It takes n log n time for the decompositions that models use.
std::optional<CoverageFault> check_coverage(const Shape& shape, uint64_t lo, uint64_t hi, const std::vector<OwnedBox>& boxes,
                                            bool gaps_allowed);

// "rank 2's block [0:10, 0:5] overlaps rank 3's block [5:15, 0:5]"; "no rank owns element [3, 4]"
std::string describe(const CoverageFault& fault);

}  // namespace tailrace
