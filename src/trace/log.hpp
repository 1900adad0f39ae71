// The log of this process, as hooks use it. Hooks run in signal handlers, before constructors, after destructors and in children of
// fork. So nothing here takes a lock, calls malloc or a hooked function, or changes errno.
#pragma once

#include <cstdint>

#include "trace/clock.hpp"
#include "trace/format.hpp"
#include "trace/memory.hpp"

namespace tailrace::trace {

// Whether this process records. The first call of a process begins its log, and so does the first call of a child. The log goes to
// the folder TAILRACE_TRACE and has at most TAILRACE_TRACE_BYTES (64 MiB). Without that folder, in a launcher, and where the log
// cannot be made, the process never records.
bool is_recording();

// Whether the log belongs to this process. False in a child that still shares its parent's memory, such as one after vfork().
bool has_own_log();

// Stores an event. When the budget is spent or the disk is full, counts it instead.
void record(const Event& event);

// The id of a name. Stores the name in the log the first time.
uint64_t name_id(const char* name, uint64_t bytes);

// The name of a call in calls.def.
const char* name_of(Call call);

// The rank of this process as MPI reports it.
void set_rank(int32_t rank, int32_t ranks);

// Stores when the process ended, and the kernel's counts of it.
void end_log();

// Adds reads of the tracer itself, which the kernel counts as the process's.
void add_own_reads(const KernelCounts& counts);

// Set what the dynamic loader had read when the log began, and when it ended.
void set_loader_at_begin(const LoaderCounts& counts);
void set_loader_at_end(const LoaderCounts& counts);

}  // namespace tailrace::trace
