// Whether a run may continue a stream: its definitions and static arrays must fit the steps that earlier runs have written.
#pragma once

#include <cstdint>

#include "base/journal.hpp"
#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "record/history.hpp"
#include "stream/step_data.hpp"
#include "stream/step_times.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// The earlier steps that all ranks must know of; with resume_before, the steps before that time are kept. Called on rank 0.
EarlierSteps earlier_steps(const History& history, const StreamConfig& config);
// The same steps as JSON, which rank 0 broadcasts, and back.
Json earlier_steps_json(const EarlierSteps& steps);
EarlierSteps earlier_steps_of(const Json& json);

// Called on rank 0, at a run's first step, when the definitions are final. Throws unless the definitions, and the values of
// replicated static variables, fit the steps of `history`.
void check_continuation(const History& history, const Definitions& definitions, const StepData& data, const StreamPaths& paths,
                        const StreamConfig& config);

// Collective. Throws if a block of a static distributed variable differs from what the parts hold for `step`, the last step that is
// kept. Only the ranks that find a difference throw.
void compare_static_arrays(const Communicator& ranks, const StreamPaths& paths, uint64_t step, const Definitions& definitions,
                           const StepData& data);

}  // namespace tailrace
