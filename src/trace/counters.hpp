// Counters by file and call, for events that got neither a slot in the log nor a merged record. Internal to src/trace.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// Reserves room for the first counters and for names. Called while a chunk can be had, so that a process that later has no free
// descriptor, no disk space or no rights to its log still counts by file.
void prepare_counters(ProcessState& process);

// Adds an event to the counter of its file and call.
void count_event(ProcessState& process, const Event& event);

// Ends the counters of a file that was renamed.
void end_counters_of(ProcessState& process, uint64_t file);

}  // namespace tailrace::trace
