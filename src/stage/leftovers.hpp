// Finds what killed jobs have left behind: folders of unfinished files of drains and extractions, outboxes, copies of comparisons.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "stage/work_folder.hpp"

namespace tailrace {

enum class LeftoverKind : uint8_t { extraction, drain, outbox, comparison };
enum class LeftoverState : uint8_t {
    abandoned,    // may be removed
    undelivered,  // an outbox with files that are not at the target: never removed here
    in_use,       // the process that owns it still runs
    elsewhere,    // made on another node
    unknown       // no lock file shows its owner, and it is not old
};

struct Leftover {
    std::string path;
    LeftoverKind kind = LeftoverKind::extraction;
    LeftoverState state = LeftoverState::unknown;
    std::string node;
    int64_t made_s = 0;  // Unix time
    uint64_t files = 0, bytes = 0;
    bool is_removed = false;
};

const char* kind_name(LeftoverKind kind);
const char* state_name(LeftoverState state);

struct ScavengeOptions {
    bool remove = false;
    bool any_node = false;  // true: the user says that the jobs on other nodes have ended
};

// Searches below a folder for leftovers of this user, and calls `see` for each. With `options.remove`, removes the abandoned ones.
// Follows no link, and skips folders that it cannot read; returns how many it skipped. Throws if the folder itself cannot be read.
uint64_t scavenge(const std::string& folder, const ScavengeOptions& options, const std::function<void(const Leftover&)>& see);

}  // namespace tailrace
