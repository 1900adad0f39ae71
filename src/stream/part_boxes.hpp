// The boxes of all parts, on rank 0, for the plan lines of the journal and the index.
#pragma once

#include <cstdint>
#include <vector>

#include "gather/communicator.hpp"
#include "record/part_box.hpp"
#include "stream/box_plan.hpp"

namespace tailrace {

using PartBoxes = std::vector<std::vector<PartBox>>;  // [variable]

// The boxes of a part as words for rank 0. Most variables of a model have the same boxes, so a box is sent once for all variables
// that follow each other with it.
std::vector<uint64_t> part_box_words(const std::vector<BoxPlan>& boxes, uint64_t part);
// Collective. Returns the boxes of all parts on rank 0. `mine`: this rank's part_box_words(); `most`: the largest mine.size() of
// all ranks.
PartBoxes collect_part_boxes(const Communicator& ranks, const std::vector<uint64_t>& mine, uint64_t most, size_t variables);

}  // namespace tailrace
