#include "trace/memory.hpp"

#include <sys/mman.h>

#include "trace/raw.hpp"

namespace tailrace::trace {

void* map_memory(uint64_t bytes, int protection, int flags, int64_t descriptor, uint64_t offset) {
    const int64_t address =
        raw::call(SYS_mmap, 0, static_cast<int64_t>(bytes), protection, flags, descriptor, static_cast<int64_t>(offset));
    return raw::is_error(address) ? nullptr : reinterpret_cast<void*>(address);
}

void* make_process_memory(std::atomic<void*>& place, uint64_t bytes) {
    void* made = map_memory(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == nullptr) return nullptr;
    raw::call(SYS_madvise, raw::address(made), static_cast<int64_t>(bytes), MADV_WIPEONFORK);
    void* of_other_thread = nullptr;
    if (place.compare_exchange_strong(of_other_thread, made)) return made;
    raw::call(SYS_munmap, raw::address(made), static_cast<int64_t>(bytes));
    return of_other_thread;
}

}  // namespace tailrace::trace
