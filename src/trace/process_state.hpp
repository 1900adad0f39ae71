// What a process and its threads know of its log. Internal to src/trace.
#pragma once

#include <atomic>

#include "trace/format.hpp"
#include "trace/memory.hpp"

namespace tailrace::trace {

// Goes one way: not_begun -> beginning -> off or on. A child starts again, because its memory is zero.
enum class LogState : uint32_t { not_begun, beginning, off, on };

// What becomes of an event. Goes one way: storing -> full -> making_counters -> counting. The one step back, from making_counters
// to full, is for a maker that found no free descriptor.
enum class Mode : uint32_t {
    storing,          // in a slot
    full,             // the budget is spent or the disk is full; there are no counters yet
    making_counters,  // one thread makes them
    counting,         // in the counter of its file, where there are counters
};

constexpr uint32_t kKnownNames = 8192;  // names of which the process knows that the log has them
constexpr uint32_t kRemainders = 256;

struct ProcessState {
    std::atomic<LogState> state;
    Header* header;  // in the log's file; there while the state is `on`
    std::atomic<Counter*> counters;
    std::atomic<uint64_t> reserved_next;  // address of the next slot for names that come when the budget is spent
    uint64_t reserved_end;
    std::atomic<uint32_t> chunks;  // of the file that are claimed
    std::atomic<Mode> mode;
    uint32_t chunk_limit;                           // as the budget allows
    uint32_t serial;                                // differs in each child
    std::atomic<uint64_t> remainders[kRemainders];  // slots that ended threads have left free: see `packed`
    std::atomic<uint64_t> names[kKnownNames];       // their ids, hashed
    char path[4096 + 128];                          // of the log's file
    uint64_t file_device, file_number;              // of that file: another one under its name is not written to
};

// The state of this process while it records, else nullptr. The first call of a process begins its log.
ProcessState* recording_process();
// The same, but nullptr where the log is not begun.
ProcessState* begun_process();

}  // namespace tailrace::trace
