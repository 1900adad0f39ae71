// Whether a run may continue a stream: its definitions and static arrays must mean what they meant to the steps that are there.
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

// Rank 0. The steps that all ranks must know of; with resume_before those before that time are kept. As JSON for the other ranks.
EarlierSteps earlier_steps(const History& history, const StreamConfig& config);
Json earlier_steps_json(const EarlierSteps& steps);
EarlierSteps earlier_steps_of(const Json& json);

// Rank 0, at a run's first step, when the definitions are final. Throws unless they, and the values of replicated static variables,
// fit the steps of `history`.
void check_continuation(const History& history, const Definitions& definitions, const StepData& data, const StreamPaths& paths,
                        const StreamConfig& config);

// Collective. Throws if a block of a static distributed variable is not what the parts hold for `step`, the last one that is kept.
// The error is that of one rank.
void compare_static_arrays(const Communicator& ranks, const StreamPaths& paths, uint64_t step, const Definitions& definitions,
                           const StepData& data);

}  // namespace tailrace
