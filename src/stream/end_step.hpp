// The three protocols of end_step: in what order a rank writes and the ranks agree. choose_protocol() chooses, each protocol has a
// file of its own, and end_step.cpp has what they share. All are collective.
#pragma once

#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gather/votes.hpp"
#include "stream/stages.hpp"
#include "stream/step_input.hpp"

namespace tailrace {

enum class StepProtocol {
    write_first,  // each rank writes its part, then the ranks agree, once (docs/decisions/0027)
    agreed,       // the ranks agree on the step, write it, and agree that all have
    overlapped,   // the ranks agree on the step and hand it to their threads; later calls commit it (docs/decisions/0012)
};
// `redistributes`: elements of scattered blocks move between ranks in every step.
StepProtocol choose_protocol(const StreamConfig& config, const Definitions& definitions, const Progress& progress,
                             bool redistributes = false);

// Whether each rank may write its step before the ranks agree: it needs no data of other ranks, and each step has files of its own
// in one directory that exists. False with retention (keep = N), where rank 0 may still be removing old steps to make room.
bool may_write_first(const StreamConfig& config, const Definitions& definitions);

// One call of end_step on this rank.
struct StepRun {
    StepInput input;
    Stopwatch watch{};
    EndStepVote vote{};            // what this rank contributes to the first agreement
    std::optional<Error> error{};  // the error that this rank reports in the first agreement
    bool group_is_prepared = false;
};

void end_step_write_first(Stages& stages, StepRun& run);  // write_first_protocol.cpp
void end_step_agreed(Stages& stages, StepRun& run);       // agreed_protocol.cpp
void end_step_overlapped(Stages& stages, StepRun& run);   // overlapped_protocol.cpp

// The second half of end_step_agreed(): the ranks have agreed on `intent`, and plan, write and commit the step.
void write_and_commit(Stages& stages, StepRun& run, StepIntent intent, bool is_first_agreement);

// Whether the first agreement of end_step is also the first one of planning. It is in a stream's first step, which all ranks must
// plan, unless blocks are redistributed or dimensions are ragged.
bool plans_in_first_agreement(const Stages& stages, const StepRun& run);
// If rank 0 is alone on its node, no idle rank there has made the next step's directory. Then rank 0 makes it before the other
// ranks return from the agreement; otherwise all of them would call mkdir.
void make_next_directory_alone(Stages& stages, const StepInput& input);
// Called on rank 0 after this step failed. If another run has taken over the stream, sets `error` to say so: that run has removed
// the parts that are missing.
void name_other_run(const Stages& stages, std::optional<Error>& error);
// Plans the step. `is_first_agreement`: as for write_and_commit(). Returns this rank's error, for the next agreement.
std::optional<Error> plan_step(Stages& stages, StepRun& run, StepIntent intent, bool is_first_agreement);

}  // namespace tailrace
