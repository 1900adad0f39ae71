// What a folder of scratch holds, and what its drains have done: read from its journal, without touching it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stage/drain.hpp"

namespace tailrace {

// How the last drain of a folder ended. `killed`: it neither ended nor runs.
enum class DrainOutcome : uint8_t { none, running, ended, stopped, killed };
const char* outcome_name(DrainOutcome outcome);

struct DrainStatus {
    DrainOutcome outcome = DrainOutcome::none;
    std::string target, sink;  // of the last drain
    uint64_t bundle_bytes = 0;
    int64_t started_s = 0, ended_s = 0;  // Unix time; 0: not
    uint64_t process = 0;                // of the drain that runs
    uint64_t delivered_files = 0, delivered_bytes = 0;
    uint64_t staged_files = 0, staged_bytes = 0;  // on scratch, not delivered
    int64_t oldest_s = 0;                         // the time of the oldest of them
    uint64_t to_remove = 0;                       // delivered, and still on scratch
    std::string stopped_because;
    std::vector<Left> left;  // named by the last drain, and still there
};

// Throws where the folder or its journal cannot be read.
DrainStatus status_of(const std::string& scratch);
// Waits until no drain runs there and one has run, at most this long. False: the time is over.
bool wait_for_drain(const std::string& scratch, double seconds);

}  // namespace tailrace
