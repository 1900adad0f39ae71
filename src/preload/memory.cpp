// Files as memory.
#include <sys/mman.h>
#include <sys/types.h>

#include "preload/hook.hpp"

namespace tailrace::preload {
namespace {

// Which file is mapped from an address on, so that the end of a mapping has its name. Where many are mapped, some are forgotten,
// and their ends are not recorded.
struct Mapping {
    std::atomic<const void*> at;
    std::atomic<uint64_t> file;
};
constexpr uint64_t kMappings = 4096;
constinit std::atomic<void*> mappings = nullptr;

Mapping* place_of(const void* at) {
    auto* all = static_cast<Mapping*>(trace::own_memory(mappings, kMappings * sizeof(Mapping)));
    constexpr uint64_t kPageBits = 12;
    return all == nullptr ? nullptr : all + (reinterpret_cast<uint64_t>(at) >> kPageBits) % kMappings;
}

void remember(const void* at, uint64_t file) {
    if (Mapping* place = place_of(at)) {
        place->file.store(file, std::memory_order_relaxed);
        place->at.store(at, std::memory_order_release);
    }
}

// The file that was mapped there; 0: none, or it is not known any more.
uint64_t forget(const void* at) {
    Mapping* place = place_of(at);
    if (place == nullptr || at == nullptr || !place->at.compare_exchange_strong(at, nullptr)) return 0;
    return place->file.load(std::memory_order_relaxed);
}

}  // namespace

// Memory without a file is not recorded.
#define MMAP(symbol)                                                                                                             \
    HOOK(void*, symbol, (void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset)) {                     \
        if ((flags & MAP_ANONYMOUS) != 0) return NEXT(symbol)(at, bytes, protection, flags, descriptor, offset);                 \
        Traced call(Call::mmap, descriptor);                                                                                     \
        void* result = NEXT(symbol)(at, bytes, protection, flags, descriptor, offset);                                           \
        const bool shared = (flags & (MAP_SHARED | MAP_SHARED_VALIDATE)) == MAP_SHARED;                                          \
        call.done(                                                                                                               \
            result == MAP_FAILED ? int64_t{-1} : int64_t{0},                                                                     \
            {.offset = offset, .bytes = bytes, .detail = static_cast<uint64_t>(protection) | (shared ? uint64_t{1} << 32 : 0)}); \
        if (call.on() && result != MAP_FAILED) remember(result, file_of(descriptor));                                            \
        return result;                                                                                                           \
    }
MMAP(mmap)
MMAP(mmap64)

HOOK(int, munmap, (void* at, size_t bytes)) {
    Traced call(Call::munmap);
    const uint64_t file = call.on() ? forget(at) : 0;
    const int result = NEXT(munmap)(at, bytes);
    return file == 0 ? result : call.done(result, {.bytes = bytes}, file);
}

HOOK(int, msync, (void* at, size_t bytes, int flags)) {
    Traced call(Call::msync);
    return call.done(NEXT(msync)(at, bytes, flags), {.bytes = bytes, .detail = static_cast<uint64_t>(flags)});
}

}  // namespace tailrace::preload
