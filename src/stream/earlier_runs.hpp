// What earlier runs left of a stream, and whether this run can append to it.
#pragma once

#include <cstdint>

#include "base/journal.hpp"
#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "record/history.hpp"
#include "stream/storage_choice.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// The part that is the dataset, as earlier runs wrote it.
struct ExistingPart {
    PartGrowth growth;  // no blocks: it does not exist
    bool has_static = false;
    bool exists() const { return !growth.blocks.empty(); }
};

struct EarlierRuns {
    uint64_t next_step = 0;
    StorageChoice storage;  // in force for this run
    ExistingPart part;      // none, unless this run appends to it
    // Rank 0; empty on the others.
    History history;
    bool made_directory = false;  // there was no directory of parts
};

// Collective. Rank 0 makes the directory of parts, reads the journal, and removes what was never committed. Its choice of storage
// and what the other ranks need is broadcast.
EarlierRuns load_history(const Communicator& ranks, const StreamPaths& paths, const StreamConfig& config, const Json& requested);

// Rank 0, at a run's first step, when the definitions are final. Throws unless they fit the earlier runs; with mode = replace,
// removes what those wrote.
void check_or_replace_history(const History& history, const Definitions& definitions, const StreamPaths& paths,
                              const StreamConfig& config, bool made_directory);

}  // namespace tailrace
