// These definitions replace the C library's allocation, which stays available under __libc_*.
#include "cost.hpp"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);
}

namespace {

std::atomic<uint64_t> held{0}, most{0};

void* take(void* memory) {
    if (memory == nullptr) return memory;
    const uint64_t now = held.fetch_add(malloc_usable_size(memory), std::memory_order_relaxed) + malloc_usable_size(memory);
    if (now > most.load(std::memory_order_relaxed)) most.store(now, std::memory_order_relaxed);
    return memory;
}

void give_back(uint64_t bytes) { held.fetch_sub(bytes, std::memory_order_relaxed); }

}  // namespace

extern "C" {

void* malloc(size_t bytes) { return take(__libc_malloc(bytes)); }
void* calloc(size_t count, size_t bytes) { return take(__libc_calloc(count, bytes)); }
void* memalign(size_t alignment, size_t bytes) { return take(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** memory, size_t alignment, size_t bytes) {
    void* taken = memalign(alignment, bytes);
    if (taken == nullptr) return ENOMEM;
    *memory = taken;
    return 0;
}

void* realloc(void* memory, size_t bytes) {
    const uint64_t before = memory == nullptr ? 0 : malloc_usable_size(memory);
    void* moved = __libc_realloc(memory, bytes);
    if (moved == nullptr && bytes != 0) return nullptr;
    give_back(before);
    return take(moved);
}

void free(void* memory) {
    if (memory != nullptr) give_back(malloc_usable_size(memory));
    __libc_free(memory);
}

}  // extern "C"

namespace tailrace::bench {

uint64_t heap_bytes() { return held.load(std::memory_order_relaxed); }
uint64_t peak_heap_bytes() { return most.load(std::memory_order_relaxed); }
void forget_peak() { most.store(heap_bytes(), std::memory_order_relaxed); }

}  // namespace tailrace::bench
