#include "layout/part_boxes.hpp"

#include <algorithm>

#include "layout/join.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"
#include "layout/slab.hpp"

namespace tailrace {
namespace {

// The blocks in [begin, begin + count) of a dimension: their number, the smallest and the largest length. No block may reach beyond
// this range.
struct Cells {
    uint64_t count = 0, least = 0, most = 0;
};

Cells cells_along(uint64_t length, uint64_t blocks, uint64_t begin, uint64_t count) {
    const uint64_t base = length / blocks;  // each block has so many elements, or one more
    if (base == 0) return {count, 1, 1};
    const uint64_t cells = split_index(length, blocks, begin + count - 1) + 1 - split_index(length, blocks, begin);
    const uint64_t larger = count - base * cells;
    return {cells, larger < cells ? base : base + 1, larger > 0 ? base + 1 : base};
}

}  // namespace

std::vector<Box> joined_blocks(const Decomposition& decomposition, uint64_t first, uint64_t last) {
    const Shape &shape = decomposition.shape(), &grid = decomposition.grid();
    std::vector<Box> boxes;
    for (Box& box : slab_boxes(grid, first, last)) {
        for (size_t d = 0; d < grid.size(); ++d) {
            const uint64_t end = split_begin(shape[d], grid[d], box.offset[d] + box.count[d]);
            box.offset[d] = split_begin(shape[d], grid[d], box.offset[d]);
            box.count[d] = end - box.offset[d];
        }
        if (box.elements() > 0) boxes.push_back(std::move(box));
    }
    // Joins once more: if blocks are empty, boxes that are apart in the grid may be side by side in the array.
    return join_blocks(std::move(boxes));
}

std::vector<Box> boxes_of_part(const Layout& layout, const Decomposition& decomposition, uint64_t first, uint64_t last) {
    if (has_one_part(layout)) return {whole_box(decomposition.shape())};
    return joined_blocks(decomposition, first, last);
}

BoxSpans spans_in_box(const Decomposition& decomposition, const Box& box, uint64_t element_bytes) {
    if (box.elements() == 0) return {};
    const Shape &shape = decomposition.shape(), &grid = decomposition.grid();
    BoxSpans spans{element_bytes, 1};
    bool inside = true;  // the span continues as long as one block has all of the box along a dimension
    for (size_t d = shape.size(); d-- > 0;) {
        const Cells cells = cells_along(shape[d], grid[d], box.offset[d], box.count[d]);
        (inside ? spans.shortest_bytes : spans.most) *= inside ? cells.least : cells.most;
        inside = inside && cells.count == 1;
    }
    return spans;
}

bool all_write(const Layout& layout, uint64_t ranks) {
    const Writers& writers = layout.writers;
    const bool as_many =
        writers.kind == Writers::Kind::all || (writers.kind == Writers::Kind::dedicated && writers.number >= ranks);
    return as_many && (writers.at_most == 0 || writers.at_most >= ranks);
}

bool is_written_by_owners(const Layout& layout, uint64_t ranks, const BoxSpans& spans) {
    if (layout.files.kind == Files::Kind::per_rank || (layout.files.kind == Files::Kind::one && ranks == 1)) return true;
    return all_write(layout, ranks) && spans.shortest_bytes >= kDirectSpanBytes;
}

uint64_t seal_records_of_writer(uint64_t variables, uint64_t boxes, uint64_t direct_spans) {
    return kSpareSealRecords + variables + boxes + direct_spans;
}

}  // namespace tailrace
