// Files as memory.
#include <sys/mman.h>
#include <sys/types.h>

#include "preload/hook.hpp"

namespace tailrace::preload {

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
        return result;                                                                                                           \
    }
MMAP(mmap)
MMAP(mmap64)

HOOK(int, msync, (void* at, size_t bytes, int flags)) {
    Traced call(Call::msync);
    return call.done(NEXT(msync)(at, bytes, flags), {.bytes = bytes, .detail = static_cast<uint64_t>(flags)});
}

}  // namespace tailrace::preload
