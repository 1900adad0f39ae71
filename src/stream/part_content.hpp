// What this rank's part holds: its arrays, what each is made of, and where each is placed.
#pragma once

#include <vector>

#include "layout/keys.hpp"
#include "layout/placement.hpp"
#include "part/description.hpp"
#include "record/definitions.hpp"
#include "stream/step_plan.hpp"

namespace tailrace {

struct PartArray {
    enum class From { slab, replicated, time } from = From::time;
    size_t variable = 0;
    size_t slab = 0;  // From::slab: its place in StepPlan::slabs()
    Box slice;        // From::replicated: what of the array is stored; no dimensions: all
};

struct PartContent {
    Description description;
    std::vector<PartArray> arrays;      // as in the description
    std::vector<size_t> array_of_slab;  // by the place in StepPlan::slabs(): its array's place; static ones that are not stored: 0
    std::vector<uint64_t> slot;         // of each array that is placed: its number among the static ones, or among those of a step
    std::vector<size_t> packed;         // the arrays that are compressed, as StepPlan::packed() has their slabs
    Placement placement;
    uint64_t seal_slot_bytes = 0;  // of one writer; 0: no checksums are kept
    uint64_t seal_writers = 0;

    uint64_t static_address(size_t array) const { return placement.static_addresses()[slot[array]]; }
    uint64_t step_offset(size_t array) const { return placement.step_offsets()[slot[array]]; }
};

// `with_static`: static distributed variables are part of it. Replicated ones always are.
PartContent describe_part(const Definitions& definitions, const StreamConfig& config, const StepPlan& plan, bool with_static,
                          uint64_t writers);

}  // namespace tailrace
