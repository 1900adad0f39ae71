// What earlier runs left of a stream.
#pragma once

#include <cstdint>
#include <memory>

#include "base/journal.hpp"
#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "record/history.hpp"
#include "record/write_access.hpp"
#include "stream/step_data.hpp"
#include "stream/step_times.hpp"
#include "stream/storage_choice.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// The part that is the dataset, as earlier runs wrote it.
struct ExistingPart {
    PartGrowth growth;  // no blocks: it does not exist
    bool has_static = false;
    uint64_t segment = 0;  // the number in its name, once this run has begun; 0: none
    bool exists() const { return !growth.blocks.empty(); }
};

struct EarlierRuns {
    EarlierSteps steps;
    StorageChoice storage;  // in force for this run
    ExistingPart part;      // none, unless this run appends to it
    // Rank 0; empty on the others.
    History history;
    std::shared_ptr<WriteAccess> access;
};

// Collective. Rank 0 makes the directory of parts, takes the stream's lock, reads the journal, and removes what was never
// committed. Its choice of storage and what the other ranks need is broadcast; the run's numbers in `paths` are set.
EarlierRuns load_history(const Communicator& ranks, StreamPaths& paths, const StreamConfig& config, const Json& requested);

// Rank 0, at a run's first step, when the definitions are final. Throws unless what it writes fits those earlier steps that stay.
// Then begins the run's segment of the journal; with mode = replace, removes what earlier runs wrote. Where one of these may still
// write into the part that is the dataset, this run gets a copy of it.
void begin_run_after(History& history, const EarlierSteps& steps, const Definitions& definitions, const StepData& data,
                     const StreamPaths& paths, const StreamConfig& config, WriteAccess& access);

}  // namespace tailrace
