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
    PartGrowth growth;  // without blocks: the part does not exist
    bool has_static = false;
    uint64_t segment = 0;  // the number in the part's file name, once this run has begun; 0: the name has no number
    bool exists() const { return !growth.blocks.empty(); }
};

struct EarlierRuns {
    EarlierSteps steps;
    StorageChoice storage;  // in force for this run
    ExistingPart part;      // the part that this run appends to; exists() is false if there is none
    // The steps that the journal records, on rank 0; empty on the other ranks.
    History history;
    // The stream's lock and journal segment, on rank 0; null on the other ranks.
    std::shared_ptr<WriteAccess> access;
};

// Collective. Rank 0 makes the directory of parts, takes the stream's lock, reads the journal, and removes what was never
// committed. Rank 0 broadcasts its choice of storage and what the other ranks need. Sets this run's numbers in `paths`.
EarlierRuns load_history(const Communicator& ranks, StreamPaths& paths, const StreamConfig& config, const Json& requested);

// Called on rank 0, at a run's first step, when the definitions are final. Throws unless this run's definitions and static data fit
// the earlier steps that are kept. Then begins the run's segment of the journal; with mode = replace, removes what earlier runs
// wrote. If an earlier run may still write into the part that is the dataset, this run gets a copy of that part.
void begin_run_after(History& history, const EarlierSteps& steps, const Definitions& definitions, const StepData& data,
                     const StreamPaths& paths, const StreamConfig& config, WriteAccess& access);

}  // namespace tailrace
