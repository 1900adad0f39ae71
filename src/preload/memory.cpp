// Calls that map files as memory.
#include <sys/mman.h>
#include <sys/types.h>

#include "preload/hook.hpp"

namespace tailrace::preload {
namespace {

// The file that is mapped at an address, so that munmap is recorded with the file. A hash table without collision handling: if
// there are many mappings, some are overwritten, and their munmap is not recorded.
struct Mapping {
    std::atomic<const void*> at;
    std::atomic<uint64_t> file;
};
constexpr uint64_t kMappings = 4096;
constinit std::atomic<void*> mappings = nullptr;

Mapping* place_of(const void* at) {
    auto* all = static_cast<Mapping*>(trace::process_memory(mappings, kMappings * sizeof(Mapping)));
    constexpr uint64_t kPageBits = 12;
    return all == nullptr ? nullptr : all + (reinterpret_cast<uint64_t>(at) >> kPageBits) % kMappings;
}

void set_mapping(const void* at, uint64_t file) {
    if (Mapping* place = place_of(at)) {
        place->file.store(file, std::memory_order_relaxed);
        place->at.store(at, std::memory_order_release);
    }
}

// Removes a mapping and returns its file; 0: none, or it was overwritten.
uint64_t take_mapping(const void* at) {
    Mapping* place = place_of(at);
    if (place == nullptr || at == nullptr || !place->at.compare_exchange_strong(at, nullptr)) return 0;
    return place->file.load(std::memory_order_relaxed);
}

}  // namespace

// Mappings without a file are not recorded.
#define MMAP(symbol)                                                                                                             \
    HOOK(void*, symbol, (void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset)) {                     \
        if ((flags & MAP_ANONYMOUS) != 0) return NEXT(symbol)(at, bytes, protection, flags, descriptor, offset);                 \
        Traced call(Call::mmap, descriptor);                                                                                     \
        void* result = NEXT(symbol)(at, bytes, protection, flags, descriptor, offset);                                           \
        const bool shared = (flags & (MAP_SHARED | MAP_SHARED_VALIDATE)) == MAP_SHARED;                                          \
        call.finish(                                                                                                             \
            result == MAP_FAILED ? int64_t{-1} : int64_t{0},                                                                     \
            {.offset = offset, .bytes = bytes, .detail = static_cast<uint64_t>(protection) | (shared ? uint64_t{1} << 32 : 0)}); \
        if (call.is_recording() && result != MAP_FAILED) set_mapping(result, file_id(descriptor));                               \
        return result;                                                                                                           \
    }
MMAP(mmap)
MMAP(mmap64)

HOOK(int, munmap, (void* at, size_t bytes)) {
    Traced call(Call::munmap);
    const uint64_t file = call.is_recording() ? take_mapping(at) : 0;
    const int result = NEXT(munmap)(at, bytes);
    return file == 0 ? result : call.finish(result, {.bytes = bytes}, file);
}

HOOK(int, msync, (void* at, size_t bytes, int flags)) {
    Traced call(Call::msync);
    return call.finish(NEXT(msync)(at, bytes, flags), {.bytes = bytes, .detail = static_cast<uint64_t>(flags)});
}

}  // namespace tailrace::preload
