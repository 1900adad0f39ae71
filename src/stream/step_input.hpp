// One step as the model handed it over.
#pragma once

#include <cstdint>

#include "record/definitions.hpp"
#include "stream/progress.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

struct StepInput {
    Definitions& definitions;  // the lengths of ragged dimensions are set once the ranks have agreed on them
    StepData& data;            // the offsets of blocks along ragged dimensions are set at the same time
    Progress& progress;
    double time = 0;
    double began_s = 0;  // when end_step was called
    uint64_t definitions_fingerprint = 0;

    uint64_t number() const { return progress.next_step(); }
    bool is_first_of_run() const { return !progress.has_taken_step(); }
    // Whether static distributed variables are written with this step.
    bool with_static() const { return !progress.statics_stored() && definitions.has_static_distributed(); }
};

}  // namespace tailrace
