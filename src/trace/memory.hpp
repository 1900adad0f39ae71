// Memory for the log and for tables of hooks: mapped from the kernel, never from malloc.
#pragma once

#include <atomic>
#include <cstdint>

namespace tailrace::trace {

// nullptr where the kernel refuses. Without a file, `descriptor` is -1.
void* map_memory(uint64_t bytes, int protection, int flags, int64_t descriptor, uint64_t offset);

// The part of process_memory that runs once for each `place`.
void* make_process_memory(std::atomic<void*>& place, uint64_t bytes);

// Memory of this process, zero at first; nullptr where there is none. The kernel clears it in every child, however the child was
// forked. So a child begins with an empty log and with empty tables.
inline void* process_memory(std::atomic<void*>& place, uint64_t bytes) {
    void* memory = place.load(std::memory_order_acquire);
    if (memory != nullptr) [[likely]]
        return memory;
    return make_process_memory(place, bytes);
}

}  // namespace tailrace::trace
