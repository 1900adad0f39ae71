// The boxes of this rank's part, each of which is stored as one array, and how their elements reach the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gather/communicator.hpp"
#include "layout/box.hpp"
#include "layout/chunks.hpp"
#include "layout/part_boxes.hpp"
#include "record/definitions.hpp"

namespace tailrace {

// This rank's blocks of one variable, as planned.
struct VariablePlan {
    bool planned = false;
    std::vector<Box> boxes;
    bool has_gaps = false;  // some elements belong to no rank
};

// A box that is stored as one array: the whole variable if there is one part, else a box joined from blocks of the part's ranks.
struct BoxPlan {
    enum class Way {
        by_owners,   // each rank writes its blocks from its memory
        exchanged,   // the ranks send their elements to the writers (Exchange)
        compressed,  // in chunks that all ranks of the part compress
    };
    size_t variable = 0;
    uint64_t number = 0;       // the box's index, from 0, among the boxes of the variable in the part
    Box box;                   // the box's place in the variable
    std::vector<size_t> mine;  // indices of this rank's blocks that lie in the box
    bool written = true;       // false: the box is of a static variable that is stored already
    Way way = Way::by_owners;
    bool has_gaps = false;                         // some elements belong to no rank; the writer fills them (only with one part)
    std::optional<ChunkGrid> grid = std::nullopt;  // the chunks of a compressed box; none: not compressed
};

// The boxes of a stream with one part: each variable is one box.
std::vector<BoxPlan> whole_variables(const Definitions& definitions, const std::vector<VariablePlan>& variables);
// Cuts a box into chunks if the layout compresses it.
void choose_chunks(BoxPlan& planned, const Variable& variable, const Storage& storage);
// The boxes where each rank has a part of its own: each block is one box.
std::vector<BoxPlan> boxes_of_blocks(const std::vector<VariablePlan>& variables);
// Collective over the ranks of one part, where there are several parts. Joins the ranks' blocks to boxes. The part's first rank
// does this alone, because the blocks of all ranks would need too much memory on every rank.
std::vector<BoxPlan> joined_boxes(const Communicator& part_ranks, const std::vector<VariablePlan>& variables);

// The spans of the blocks in each box. With `all_ranks_write` the call is collective over the part's ranks and returns the spans of
// all their blocks; without, it is local and returns those of this rank's blocks.
std::vector<BoxSpans> spans_in_boxes(const std::vector<BoxPlan>& boxes, const Definitions& definitions,
                                     const std::vector<VariablePlan>& variables, const Communicator* part_ranks,
                                     bool all_ranks_write);

}  // namespace tailrace
