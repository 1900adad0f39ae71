// What the part of this rank contains: its arrays, and for each array where its data comes from and its address in the file.
#pragma once

#include <vector>

#include "layout/keys.hpp"
#include "layout/placement.hpp"
#include "part/description.hpp"
#include "record/definitions.hpp"
#include "stream/box_plan.hpp"

namespace tailrace {

struct PartArray {
    enum class From { box, replicated, time } from = From::time;
    size_t variable = 0;
    size_t box = 0;  // From::box: its index among the planned boxes
    Box slice;       // From::replicated: the box of the variable that is stored; without dimensions: all of it
};

struct PartContent {
    Description description;
    std::vector<PartArray> arrays;     // in the order of the description
    std::vector<size_t> array_of_box;  // by index of a planned box: the index of its array; 0 for a static box that is not stored
    std::vector<uint64_t> slot;        // of each placed array: its index among the static arrays, or among the arrays of a step
    std::vector<size_t> packed;        // the compressed arrays, in the order of StepPlan::packed()
    Placement placement;
    uint64_t seal_slot_bytes = 0;  // room for the seal (checksum records) of one writer in a step; 0: no checksums
    uint64_t seal_writers = 0;     // how many writers have such room

    uint64_t static_address(size_t array) const { return placement.static_addresses()[slot[array]]; }
    uint64_t step_offset(size_t array) const { return placement.step_offsets()[slot[array]]; }
};

// `boxes`: the boxes of the part. `slot_bytes`: the room for the checksums of one writer in a step. `with_static`: whether the part
// stores the static distributed variables. It always stores the replicated variables.
PartContent describe_part(const Definitions& definitions, const StreamConfig& config, const std::vector<BoxPlan>& boxes,
                          uint64_t slot_bytes, bool with_static, uint64_t writers);

}  // namespace tailrace
