// The state of a process's log, in the process's memory. Internal to src/trace.
#pragma once

#include <atomic>

#include "trace/format.hpp"
#include "trace/memory.hpp"

namespace tailrace::trace {

// Goes one way: not_begun -> beginning -> off or on. A child starts again, because its memory is zero.
enum class LogState : uint32_t { not_begun, beginning, off, on };

// Free slots in chunks that all threads share: for merged records, for counters, or for names that are new when the budget is
// spent.
struct SharedRoom {
    std::atomic<uint32_t> is_taken;  // 1: a thread changes `next` and `end`
    uint64_t next, end;              // addresses of the free slots: [next, end)
};

// Whether the log can have more chunks. Changes only in the order of the values.
enum class Growth : uint32_t { grows, budget_spent, stopped };

constexpr int32_t kNotMerging = -1;
struct Merging {
    std::atomic<int32_t> shift;        // kNotMerging, or how often the limits of merging.hpp were doubled
    std::atomic<uint32_t> generation;  // records of an earlier generation are ended
    std::atomic<uint32_t> threads;     // number of threads that merge
};
constexpr uint32_t kKnownNames = 8192;  // names of which the process knows that the log has them
constexpr uint32_t kRemainders = 256;

struct ProcessState {
    std::atomic<LogState> state;
    Header* header;  // mapped from the log's file; valid while the state is `on`
    SharedRoom merged, counters, names_beyond_budget;
    std::atomic<uint32_t> chunks;  // number of chunks of the file that are claimed
    std::atomic<Growth> growth;
    Merging merging;
    uint32_t chunk_limit;                            // the most chunks that the budget allows
    uint32_t serial;                                 // differs in each child
    std::atomic<uint64_t> remainders[kRemainders];   // slots that ended threads have left free: see packed() in slots.cpp
    std::atomic<uint64_t> known_names[kKnownNames];  // hash table of the ids of names that the log has
    char path[4096 + 128];                           // path of the log's file
    uint64_t file_device, file_number;               // device and inode of the log's file, to detect another file of this name
};

// The state of this process while it records, else nullptr. The first call of a process begins its log.
ProcessState* recording_process();
// The state of this process while it records, else nullptr. Never begins a log.
ProcessState* begun_process();

}  // namespace tailrace::trace
