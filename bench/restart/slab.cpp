#include "slab.hpp"

#include <stdexcept>

namespace bench {
namespace {

// Ranks and elements are divided in the same proportion, so that every rank has the same number of elements.
Slab block_of(const std::array<uint64_t, 3> &global, int rank, int ranks) {
    Slab slab{{0, 0, 0}, global};
    for (size_t d = 2; ranks > 1; d = 3 - d) {
        const int lower = ranks / 2;
        const uint64_t cut = slab.count[d] * static_cast<uint64_t>(lower) / static_cast<uint64_t>(ranks);
        if (rank < lower) {
            slab.count[d] = cut;
            ranks = lower;
        } else {
            slab.offset[d] += cut;
            slab.count[d] -= cut;
            rank -= lower;
            ranks -= lower;
        }
    }
    return slab;
}

}  // namespace

Slab slab_of(const std::string &split, const std::array<uint64_t, 3> &global, int rank, int ranks) {
    if (split == "blocks") return block_of(global, rank, ranks);
    if (split != "rows") throw std::invalid_argument("unknown split '" + split + "'; known: rows, blocks");
    const auto bound = [&](int of_rank) { return global[0] * static_cast<uint64_t>(of_rank) / static_cast<uint64_t>(ranks); };
    return {{bound(rank), 0, 0}, {bound(rank + 1) - bound(rank), global[1], global[2]}};
}

}  // namespace bench
