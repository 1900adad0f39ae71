// The log of this process. What is called here may be called from any hook: in signal handlers, before constructors and after
// destructors, in children of fork; it takes no lock and no memory of malloc, calls no hooked function and leaves errno alone.
#pragma once

#include <atomic>

#include "trace/format.hpp"

namespace tailrace::trace {

// Memory that is zero now, and again in every child of fork, however it was forked. Made once for each `place`; nullptr where there
// is none.
void* own_memory(std::atomic<void*>& place, uint64_t bytes);

// Nanoseconds of CLOCK_MONOTONIC.
uint64_t now_ns();

// Whether what happens is recorded. The first call of a process, also of one that was forked, begins its log: in the folder
// TAILRACE_TRACE, with at most TAILRACE_TRACE_BYTES (64 MiB). Without that folder, in a launcher, or where the log cannot be made,
// nothing is recorded, then and later.
bool is_on();

// Stores an event; once the budget is spent, or where the disk is full, counts it.
void record(const Event& event);

// The id of a name, which the log has from now on.
uint64_t file_id(const char* name, uint64_t bytes);

// As calls.def names a call.
const char* name_of(Call call);

// What MPI says of this process.
void set_rank(int32_t rank, int32_t ranks);

// The process ends by itself.
void end_log();

// What the tracer has done itself, as the kernel counts it.
void add_own(const KernelCounts& counts);

// What the loader has read until the log's beginning, and until its end.
void set_loader_at_begin(const LoaderCounts& counts);
void set_loader_at_end(const LoaderCounts& counts);

}  // namespace tailrace::trace
