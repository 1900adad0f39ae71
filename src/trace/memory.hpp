// Memory for the log and for tables of hooks: mapped from the kernel, never from malloc.
#pragma once

#include <atomic>
#include <cstdint>

namespace tailrace::trace {

// Calls mmap; nullptr if the kernel refuses. `descriptor`: the file descriptor, or -1 for memory without a file.
void* map_memory(uint64_t bytes, int protection, int flags, int64_t descriptor, uint64_t offset);

// The slow path of process_memory(), which runs once for each `place`.
void* make_process_memory(std::atomic<void*>& place, uint64_t bytes);

// Memory of this process, zero at first; nullptr if it cannot be mapped. `place` keeps its address. The kernel clears the memory in
// every child, however the child was forked, so a child begins with an empty log and empty tables.
inline void* process_memory(std::atomic<void*>& place, uint64_t bytes) {
    void* memory = place.load(std::memory_order_acquire);
    if (memory != nullptr) [[likely]]
        return memory;
    return make_process_memory(place, bytes);
}

}  // namespace tailrace::trace
