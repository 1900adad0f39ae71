// The slabs of a part, which are its arrays, and who writes them: the rules that the plan and the library share. In one part the
// slab is the whole variable; in a part of several, each of the boxes that the blocks of the part's ranks are joined to.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/box.hpp"
#include "layout/decomposition.hpp"
#include "layout/layout.hpp"

namespace tailrace {

// A run of at least this length is written by its owner where all ranks write: gathering it would not make a better write.
constexpr uint64_t kDirectRunBytes = 64 << 10;

// The boxes that join_blocks makes of the blocks of ranks [first, last), from the grid instead of from the blocks: the cost does
// not grow with the ranks.
std::vector<Box> joined_blocks(const Decomposition& decomposition, uint64_t first, uint64_t last);

// The slabs of a variable in the part of these ranks.
std::vector<Box> slabs_of_part(const Layout& layout, const Decomposition& decomposition, uint64_t first, uint64_t last);

// The runs of one rank's blocks in a slab: the shortest of any rank, and the most that a rank has.
struct SlabRuns {
    uint64_t shortest_bytes = UINT64_MAX;
    uint64_t most = 0;
};
// Of a slab that joined_blocks gave, or the whole array; without looking at every rank.
SlabRuns runs_in_slab(const Decomposition& decomposition, const Box& slab, uint64_t element_bytes);

// Whether every rank of a part writes; of ranks that are set aside to write, too. `ranks`: those of the part.
bool all_write(const Layout& layout, uint64_t ranks);
// Whether each rank writes its own blocks of a slab; if not, the slab goes through the exchange, and each writer of the part
// writes an equal share of it. `ranks`: those of the part.
bool is_written_by_owners(const Layout& layout, uint64_t ranks, const SlabRuns& runs);

// Checksum records for which each writer of a part has room. `direct_runs`: SlabRuns::most of the slabs that owners write,
// together.
uint64_t seal_records_of_writer(uint64_t variables, uint64_t slabs, uint64_t direct_runs);

}  // namespace tailrace
