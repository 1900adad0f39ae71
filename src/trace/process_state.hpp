// What a process and its threads know of its log. Internal to src/trace.
#pragma once

#include <atomic>

#include "trace/format.hpp"
#include "trace/memory.hpp"

namespace tailrace::trace {

// Goes one way: not_begun -> beginning -> off or on. A child starts again, because its memory is zero.
enum class LogState : uint32_t { not_begun, beginning, off, on };

// Room in chunks that all threads share: of merged records, of counters, or of names that come when the budget is spent.
struct SharedRoom {
    std::atomic<uint32_t> is_taken;  // by a thread that changes the two
    uint64_t next, end;              // addresses
};

// Whether the log can have more chunks. Goes one way.
enum class Growth : uint32_t { grows, budget_spent, stopped };

constexpr int32_t kNotMerging = -1;
struct Merging {
    std::atomic<int32_t> shift;        // kNotMerging, or how scarce the room is: see merging.hpp
    std::atomic<uint32_t> generation;  // records of an earlier generation are ended
    std::atomic<uint32_t> threads;     // that merge
};
constexpr uint32_t kKnownNames = 8192;  // names of which the process knows that the log has them
constexpr uint32_t kRemainders = 256;

struct ProcessState {
    std::atomic<LogState> state;
    Header* header;  // in the log's file; there while the state is `on`
    SharedRoom merged, counters, names_beyond_budget;
    std::atomic<uint32_t> chunks;  // of the file that are claimed
    std::atomic<Growth> growth;
    Merging merging;
    uint32_t chunk_limit;                            // as the budget allows
    uint32_t serial;                                 // differs in each child
    std::atomic<uint64_t> remainders[kRemainders];   // slots that ended threads have left free: see `packed`
    std::atomic<uint64_t> known_names[kKnownNames];  // their ids, hashed
    char path[4096 + 128];                           // of the log's file
    uint64_t file_device, file_number;               // of that file: another one under its name is not written to
};

// The state of this process while it records, else nullptr. The first call of a process begins its log.
ProcessState* recording_process();
// The same, but nullptr where the log is not begun.
ProcessState* begun_process();

}  // namespace tailrace::trace
