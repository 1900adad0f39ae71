// The boxes of a variable that one part holds, each stored as one array, and which ranks write them. The plan and the library use
// these rules. With one part, the box is the whole variable; with several, the blocks of the part's ranks are joined to boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/box.hpp"
#include "layout/decomposition.hpp"
#include "layout/layout.hpp"

namespace tailrace {

// If all ranks write, the owner writes a span of at least this length itself: gathering would not make a faster write.
constexpr uint64_t kDirectSpanBytes = 64 << 10;

// The boxes that join_blocks makes of the blocks of ranks [first, last). They are computed from the grid, so that the cost does not
// grow with the number of ranks.
std::vector<Box> joined_blocks(const Decomposition& decomposition, uint64_t first, uint64_t last);

// The boxes of a variable in the part of these ranks.
std::vector<Box> boxes_of_part(const Layout& layout, const Decomposition& decomposition, uint64_t first, uint64_t last);

// The spans of the ranks' blocks in a box: the length of the shortest one, and the most spans that one rank has.
struct BoxSpans {
    uint64_t shortest_bytes = UINT64_MAX;
    uint64_t most = 0;
};
// For a box that joined_blocks returned, or the whole array. The cost does not grow with the number of ranks.
BoxSpans spans_in_box(const Decomposition& decomposition, const Box& box, uint64_t element_bytes);

// Whether every rank of a part writes, or as many ranks are set aside to write. `ranks`: of the part.
bool all_write(const Layout& layout, uint64_t ranks);
// Whether each rank writes its own blocks of a box. If not, the exchange moves the blocks, and each writer of the part writes
// an equal slab of it. `ranks`: of the part.
bool is_written_by_owners(const Layout& layout, uint64_t ranks, const BoxSpans& spans);

// The number of checksum records for which each writer of a part has room. `direct_spans`: the sum of BoxSpans::most over the boxes
// that owners write.
uint64_t seal_records_of_writer(uint64_t variables, uint64_t boxes, uint64_t direct_spans);

}  // namespace tailrace
