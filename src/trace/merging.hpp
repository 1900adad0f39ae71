// Merged records: the sums over calls of a thread that have the same key, in place of their events. Internal to src/trace.
//
// Merging begins when half of the budget is used, so that short runs have a full timeline. From then on a record has the calls of
// a second, and a call of more than a millisecond is an event of its own. Both limits double each time that half of the remaining
// room is used. So a long run does not use up its budget.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// Begins merging, or doubles its limits, if so much of the budget is used. Called when the log has grown, and when it cannot grow.
void begin_merging_when_due(ProcessState& process);

// Adds the event to a merged record. False: the event must be recorded by itself. `shift`: Merging::shift.
bool merge_event(ProcessState& process, const Event& event, int32_t shift);

}  // namespace tailrace::trace
