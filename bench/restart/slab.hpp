// The part of every array that a rank reads.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace bench {

struct Slab {
    std::array<uint64_t, 3> offset;
    std::array<uint64_t, 3> count;

    uint64_t elements() const { return count[0] * count[1] * count[2]; }
};

// The slab of a rank of `ranks`. "rows" divides the slowest dimension, as the writers do; "blocks" halves the other two in turns.
// Throws for other names.
Slab slab_of(const std::string &split, const std::array<uint64_t, 3> &global, int rank, int ranks);

// Calls each(global index, elements of the slab before the span, length) for each span of the slab, which is a range of elements
// that is contiguous in the global array.
template <typename Each>
void for_spans(const std::array<uint64_t, 3> &global, const Slab &slab, Each &&each) {
    std::array<uint64_t, 3> outer = slab.count;  // the number of spans along each dimension
    uint64_t length = 1;
    for (int d = 2; d >= 0; --d) {
        const auto at = static_cast<size_t>(d);
        length *= slab.count[at];
        outer[at] = 1;
        if (slab.count[at] != global[at]) break;
    }
    uint64_t done = 0;
    for (uint64_t z = 0; z < outer[0]; ++z)
        for (uint64_t y = 0; y < outer[1]; ++y, done += length)
            each(((slab.offset[0] + z) * global[1] + slab.offset[1] + y) * global[2] + slab.offset[2], done, length);
}

}  // namespace bench
