// Room for events and names: chunks of the log's file, within the budget. Internal to src/trace.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// Chunks of the budget that events do not get: one for counters, one for names of files that come when the budget is spent.
constexpr uint32_t kReservedChunks = 2;

// Whether the log has room for events, as far as is known.
bool stores_events(const ProcessState& process);

// Room for so many slots, one after the other. nullptr where the log is full, or where a chunk cannot be had at this moment. A
// signal handler that interrupts gets other slots.
void* claim_slots(ProcessState& process, uint32_t slots);

// The same for names that come when the budget is spent: from the chunk that is reserved for them.
void* claim_reserved_slots(ProcessState& process, uint32_t slots);

// A new chunk of the file, with its head; the log then has at most `limit` chunks. nullptr where there is none; the disk is then
// full, unless `is_transient`: another try may succeed.
ChunkHead* claim_chunk(ProcessState& process, uint16_t kind, uint32_t limit, bool& is_transient);

// Called once before the first claim. Slots that a thread leaves when it ends go to other threads from then on.
void watch_thread_ends();

}  // namespace tailrace::trace
