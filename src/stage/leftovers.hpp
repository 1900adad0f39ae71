// What killed jobs have left: folders of unfinished files, of drains and extractions, empty outboxes, copies of comparisons.
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
    in_use,       // its owner lives
    elsewhere,    // made on another node
    unknown       // no lock says whose it is, and it is not old
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
    bool any_node = false;  // the jobs of other nodes are known to be gone
};

// Looks below a folder, and removes what is abandoned if it is asked to. Sees what belongs to this user. Follows no link, and
// passes over folders that it cannot read; returns their count. Throws where the folder itself cannot be read.
uint64_t scavenge(const std::string& folder, const ScavengeOptions& options, const std::function<void(const Leftover&)>& see);

}  // namespace tailrace
