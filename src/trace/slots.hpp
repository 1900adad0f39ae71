// Hands out slots for events, names, counters and merged records, in chunks of the log's file. Internal to src/trace.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// Chunks of the budget that events do not get: one for counters, one for names that are new when the budget is spent, and one for
// merged records.
constexpr uint32_t kReservedChunks = 3;
constexpr uint32_t kNoLimit = ~uint32_t{0};

// Events get a new chunk only while the log has fewer chunks than this.
inline uint32_t event_chunk_limit(const ProcessState& process) { return process.chunk_limit - kReservedChunks; }

// Claims `slots` consecutive slots for this thread. nullptr: the log is full, or no chunk can be added at this moment. A signal
// handler that interrupts this call gets other slots.
void* claim_slots(ProcessState& process, uint32_t slots);

// Claims consecutive slots in chunks that all threads share. `limit`: the most chunks that the log may have after a new one is
// added.
void* claim_shared_slots(ProcessState& process, SharedRoom& room, ChunkKind kind, uint32_t slots, uint32_t limit);

// Claims slots for names, and for events that must be kept, when the budget is spent.
void* claim_slots_beyond_budget(ProcessState& process, uint32_t slots);

// Makes slots that a thread has not used when it ends available to other threads. Called once, before the first claim.
void watch_thread_ends();

// The kernel's number of this thread (gettid), which is stored in ChunkHead::thread.
uint32_t thread_number();

}  // namespace tailrace::trace
