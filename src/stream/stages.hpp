// The stages that a step of a stream passes, in their order, and what all of them share.
#pragma once

#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "stream/commit.hpp"
#include "stream/earlier_runs.hpp"
#include "stream/overlap.hpp"
#include "stream/scratch_opening.hpp"
#include "stream/stage_times.hpp"
#include "stream/staged_steps.hpp"
#include "stream/step_writer.hpp"
#include "stream/stream_journal.hpp"
#include "stream/stream_paths.hpp"
#include "stream/upkeep.hpp"

namespace tailrace {

struct Stages {
    // Collective. Completes `config` with what earlier runs and the file system decide.
    Stages(const Communicator& ranks, StreamPaths paths, StreamConfig& config, const Json& requested);

    const Communicator& ranks;
    const StreamConfig& config;
    StreamPaths paths;  // has the numbers of this run once `earlier` is loaded
    StageTimes times;
    Overlap overlap;
    EarlierRuns earlier;
    ScratchOpening scratch;
    StreamJournal journal;
    StepWriter writer;
    Upkeep upkeep;
    Commit commit;
    StagedSteps staged;
    WritingRank writing_rank;  // set if files grow (steps != 1) and this rank writes

    // Gives up the stream's lock: from then on another run may write the stream.
    void release() noexcept;
};

}  // namespace tailrace
