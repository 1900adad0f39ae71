// Whether the blocks of all ranks make up an array: each checker looks at its share of the positions, so that no rank needs all
// blocks.
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
    OwnedBox a, b;    // overlap: two boxes with an element of the share in common, the lower rank first
    Extents missing;  // gap: the index of the first element of the share, in file order, that no box has
};

// Whether the boxes cover positions [lo, hi) of an array of `shape` exactly once; nothing when they do. An overlap is reported
// before a gap. `boxes` holds at least all boxes that touch the share (others do no harm), each inside the shape; empty ones are
// ignored. With `gaps_allowed` only overlaps are faults. Exact; n log n for the decompositions that models use.
std::optional<CoverageFault> check_coverage(const Extents& shape, uint64_t lo, uint64_t hi, const std::vector<OwnedBox>& boxes,
                                            bool gaps_allowed);

// "rank 2's block [0:10, 0:5] overlaps rank 3's block [5:15, 0:5]"; "no rank owns element [3, 4]"
std::string describe(const CoverageFault& fault);

}  // namespace tailrace
