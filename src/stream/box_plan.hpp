// The boxes that are one array each in this rank's part, and how they reach the file.
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

// The whole variable where there is one part; else a box that blocks of the part's ranks are joined to.
struct BoxPlan {
    enum class Way {
        by_owners,   // each rank writes its blocks from its memory
        exchanged,   // through the exchange
        compressed,  // in chunks that all ranks of the part compress
    };
    size_t variable = 0;
    uint64_t number = 0;       // among the boxes of the variable in the part
    Box box;                   // in the variable
    std::vector<size_t> mine;  // this rank's blocks that lie in it
    bool written = true;       // false: a static variable that is stored already
    Way way = Way::by_owners;
    bool has_gaps = false;                         // one part: the writer fills them
    std::optional<ChunkGrid> grid = std::nullopt;  // of a compressed box
};

// One part: each variable is one box.
std::vector<BoxPlan> whole_variables(const Definitions& definitions, const std::vector<VariablePlan>& variables);
// Cuts a box into chunks where the layout compresses it.
void choose_chunks(BoxPlan& planned, const Variable& variable, const Storage& storage);
// A part for each rank: each block is one box.
std::vector<BoxPlan> boxes_of_blocks(const std::vector<VariablePlan>& variables);
// Collective over the ranks of a part of several: their blocks are joined to boxes. The first rank joins them: the
// blocks of all ranks would need too much memory on each of them.
std::vector<BoxPlan> joined_boxes(const Communicator& part_ranks, const std::vector<VariablePlan>& variables);

// The spans of the blocks in each box. Collective where `all_ranks_write`: then over the ranks of the part, else of this rank.
std::vector<BoxSpans> spans_in_boxes(const std::vector<BoxPlan>& boxes, const Definitions& definitions,
                                     const std::vector<VariablePlan>& variables, const Communicator* part_ranks,
                                     bool all_ranks_write);

}  // namespace tailrace
