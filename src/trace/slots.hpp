// Room for events, names, counters and merged records: chunks of the log's file. Internal to src/trace.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// Chunks of the budget that events do not get: one each for counters, for names that come when the budget is spent, and for merged
// records.
constexpr uint32_t kReservedChunks = 3;
constexpr uint32_t kNoLimit = ~uint32_t{0};

// The most chunks of the log while events get one.
inline uint32_t event_chunk_limit(const ProcessState& process) { return process.chunk_limit - kReservedChunks; }

// Room for so many slots, one after the other. nullptr where the log is full, or where a chunk cannot be had at this moment. A
// signal handler that interrupts gets other slots.
void* claim_slots(ProcessState& process, uint32_t slots);

// The same in chunks that all threads share. `limit`: the most chunks of the log if a new one is needed.
void* claim_shared_slots(ProcessState& process, SharedRoom& room, ChunkKind kind, uint32_t slots, uint32_t limit);

// For names, and for events that must be kept, when the budget is spent.
void* claim_slots_beyond_budget(ProcessState& process, uint32_t slots);

// Called once before the first claim. Slots that a thread leaves when it ends go to other threads from then on.
void watch_thread_ends();

// The number of this thread, as a chunk's head has it.
uint32_t thread_number();

}  // namespace tailrace::trace
