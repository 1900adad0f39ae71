// The file of a scratch folder that all processes of a run on its node map: counts, and a lock of the names on scratch.
// python/tailrace/stage/scratch_folder.py makes and reads it; the preload and `tailraced give` use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tailrace::place {

// Processes that change names on scratch hold it together; a drain that gives files their names at the target holds it alone. No
// process waits longer than the drain's time, and one that dies while it holds the lock delays drains only.
struct NamesLock {
    std::atomic<uint32_t> is_needed;      // not 0: files may be delivered while the program runs
    std::atomic<uint32_t> changing;       // calls that change names now
    std::atomic<uint64_t> held_until_ns;  // CLOCK_MONOTONIC; the drain has the lock until then
};

struct ScratchCounts {
    std::atomic<uint64_t> on_scratch, at_target;  // files that match a pattern; at_target: because scratch was too full
    std::atomic<uint32_t> has_first;
    char first[1024];  // the first path that went to the target; no zero byte if it is longer
    std::atomic<uint32_t> has_first_unanswered;
    std::atomic<uint64_t> unanswered;       // names that were absent, while a node that may have them did not answer
    std::atomic<uint32_t> agent_is_silent;  // the last question on this node had no answer in time
    char first_unanswered[1024];
    NamesLock names;
};
static_assert(offsetof(ScratchCounts, names) == 2088, "scratch_folder.py has the same places");

}  // namespace tailrace::place
