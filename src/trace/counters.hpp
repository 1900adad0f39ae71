// Counting by file, for events that the log has no room for. Internal to src/trace.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// The chunk of counters, made at the first call together with the chunk of reserved names; nullptr where it cannot be had.
Counter* counters_of(ProcessState& process);

// Adds an event to the counter of its file.
void count_event(ProcessState& process, const Event& event);

}  // namespace tailrace::trace
