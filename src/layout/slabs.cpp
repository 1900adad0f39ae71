#include "layout/slabs.hpp"

#include <algorithm>

#include "layout/join.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"
#include "layout/share.hpp"

namespace tailrace {
namespace {

// The blocks that have elements in [begin, begin + count) of a dimension, none of them cut: how many, the smallest and the largest.
struct Cells {
    uint64_t count = 0, least = 0, most = 0;
};

Cells cells_along(uint64_t length, uint64_t blocks, uint64_t begin, uint64_t count) {
    const uint64_t base = length / blocks;  // each block has so many elements, or one more
    if (base == 0) return {count, 1, 1};
    const uint64_t cells = share_of(length, blocks, begin + count - 1) + 1 - share_of(length, blocks, begin);
    const uint64_t larger = count - base * cells;
    return {cells, larger < cells ? base : base + 1, larger > 0 ? base + 1 : base};
}

}  // namespace

std::vector<Box> joined_blocks(const Decomposition& decomposition, uint64_t first, uint64_t last) {
    const Extents &shape = decomposition.shape(), &grid = decomposition.grid();
    std::vector<Box> boxes;
    for (Box& box : share_boxes(grid, first, last)) {
        for (size_t d = 0; d < grid.size(); ++d) {
            const uint64_t end = share_begin(shape[d], grid[d], box.offset[d] + box.count[d]);
            box.offset[d] = share_begin(shape[d], grid[d], box.offset[d]);
            box.count[d] = end - box.offset[d];
        }
        if (box.elements() > 0) boxes.push_back(std::move(box));
    }
    // Where blocks are empty, boxes that are apart in the grid are side by side in the array.
    return join_blocks(std::move(boxes));
}

std::vector<Box> slabs_of_part(const Layout& layout, const Decomposition& decomposition, uint64_t first, uint64_t last) {
    if (has_one_part(layout)) return {whole_box(decomposition.shape())};
    return joined_blocks(decomposition, first, last);
}

SlabRuns runs_in_slab(const Decomposition& decomposition, const Box& slab, uint64_t element_bytes) {
    if (slab.elements() == 0) return {};
    const Extents &shape = decomposition.shape(), &grid = decomposition.grid();
    SlabRuns runs{element_bytes, 1};
    bool inside = true;  // the run goes on as long as one block has all of the slab along a dimension
    for (size_t d = shape.size(); d-- > 0;) {
        const Cells cells = cells_along(shape[d], grid[d], slab.offset[d], slab.count[d]);
        (inside ? runs.shortest_bytes : runs.most) *= inside ? cells.least : cells.most;
        inside = inside && cells.count == 1;
    }
    return runs;
}

bool all_write(const Layout& layout, uint64_t ranks) {
    const Writers& writers = layout.writers;
    const bool as_many =
        writers.kind == Writers::Kind::all || (writers.kind == Writers::Kind::dedicated && writers.number >= ranks);
    return as_many && (writers.at_most == 0 || writers.at_most >= ranks);
}

bool is_written_by_owners(const Layout& layout, uint64_t ranks, const SlabRuns& runs) {
    if (layout.files.kind == Files::Kind::per_rank || (layout.files.kind == Files::Kind::one && ranks == 1)) return true;
    return all_write(layout, ranks) && runs.shortest_bytes >= kDirectRunBytes;
}

uint64_t seal_records_of_writer(uint64_t variables, uint64_t slabs, uint64_t direct_runs) {
    return kSpareSealRecords + variables + slabs + direct_runs;
}

}  // namespace tailrace
