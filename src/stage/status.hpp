// What a scratch folder contains, and what its drains have done: read from the folder and its journal, without changing them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stage/drain.hpp"

namespace tailrace {

// How the last drain of a folder ended. `none`: no drain has run; `killed`: it neither ended nor runs.
enum class DrainOutcome : uint8_t { none, running, ended, stopped, killed };
const char* outcome_name(DrainOutcome outcome);

// How files are at the target.
struct DrainForm {
    std::string sink, compression = "none";
    uint64_t bundle_bytes = 0;
};

// Files on scratch that were copied while the program ran, and why that stopped.
struct EarlyStatus {
    uint64_t files = 0, bytes = 0;
    std::string stopped_because;
};

struct DrainStatus {
    DrainOutcome outcome = DrainOutcome::none;
    std::string target;  // of the last drain, as is the form
    DrainForm form;
    int64_t started_s = 0, ended_s = 0;  // Unix time; 0: not started, or not ended
    uint64_t process = 0;                // process number of the last drain
    uint64_t delivered_files = 0, delivered_bytes = 0;
    uint64_t staged_files = 0, staged_bytes = 0;  // on scratch, not delivered
    int64_t oldest_s = 0;                         // the time of the oldest of these files
    EarlyStatus early;
    uint64_t to_remove = 0;  // files that are delivered, and still on scratch
    std::string stopped_because;
    std::vector<Left> left;  // files that the last drain has left, and that are still on scratch
};

// Throws where the folder or its journal cannot be read.
DrainStatus status_of(const std::string& scratch);
// Waits at most `seconds` until a drain of the folder has run and none runs now. False: the time is over.
bool wait_for_drain(const std::string& scratch, double seconds);

}  // namespace tailrace
