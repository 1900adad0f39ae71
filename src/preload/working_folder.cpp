#include "preload/working_folder.hpp"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>

#include "preload/hook.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {
namespace working_folder {
namespace {

namespace raw = trace::raw;

constexpr uint32_t kWords = 128, kBytes = kWords * sizeof(uint64_t);  // a longer path is not cached

// The cached path. `version` is odd while a thread writes the text, and all fields are atomic, so that neither another thread nor a
// signal handler needs a lock.
struct Known {
    std::atomic<uint64_t> version, generation, bytes;
    std::atomic<uint64_t> words[kWords];
};
constinit Known known = {};
constinit std::atomic<uint64_t> generation = 1;  // a cached path of an earlier generation is not used
constinit std::atomic<uint32_t> unknown = 0;     // while this is not 0, no cached path is used

bool put_known(char* to, uint32_t room, uint64_t now, uint32_t& bytes) {
    const uint64_t version = known.version.load(std::memory_order_acquire);
    if ((version & 1) != 0 || known.generation.load(std::memory_order_relaxed) != now) return false;
    const uint64_t found = known.bytes.load(std::memory_order_relaxed);
    if (found > room || found > kBytes) return false;
    for (uint64_t at = 0; at < found; at += sizeof(uint64_t)) {
        const uint64_t word = known.words[at / sizeof(uint64_t)].load(std::memory_order_relaxed);
        memcpy(to + at, &word, found - at < sizeof word ? found - at : sizeof word);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    bytes = static_cast<uint32_t>(found);
    return known.version.load(std::memory_order_relaxed) == version;
}

void keep(const char* text, uint32_t bytes, uint64_t now) {
    uint64_t version = known.version.load(std::memory_order_relaxed);
    if (bytes > kBytes || (version & 1) != 0) return;
    if (!known.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return;
    std::atomic_thread_fence(std::memory_order_release);
    known.generation.store(now, std::memory_order_relaxed);
    known.bytes.store(bytes, std::memory_order_relaxed);
    for (uint32_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, text + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        known.words[at / sizeof word].store(word, std::memory_order_relaxed);
    }
    known.version.store(version + 2, std::memory_order_release);
}

}  // namespace

uint32_t put(char* to, uint32_t room) {
    constexpr char kChildOfVfork = 2;
    const bool counts = tailrace_silent != kChildOfVfork && unknown.load(std::memory_order_acquire) == 0;
    const uint64_t now = generation.load(std::memory_order_acquire);  // before the kernel is asked
    uint32_t bytes = 0;
    if (counts && put_known(to, room, now, bytes)) return bytes;
    const int64_t result = raw::call(SYS_getcwd, raw::address(to), room);
    if (result <= 1 || *to != '/') return 0;  // the directory was removed, or is not below this process's root
    bytes = static_cast<uint32_t>(result) - 1;
    if (counts) keep(to, bytes, now);
    return bytes;
}

void forget() { generation.fetch_add(1, std::memory_order_acq_rel); }

void forget_for_good() { unknown.fetch_add(1, std::memory_order_acq_rel); }

WhileUnknown::WhileUnknown(bool may_change) : may_change_(may_change) {
    if (may_change_) unknown.fetch_add(1, std::memory_order_acq_rel);
}

WhileUnknown::~WhileUnknown() {
    if (!may_change_) return;
    forget();
    unknown.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace working_folder

// unshare may give the thread a working directory of its own, while the cache is in shared memory.
HOOK(int, unshare, (int flags)) {
    working_folder::forget_for_good();
    return NEXT(unshare)(flags);
}

HOOK(int, setns, (int descriptor, int kind)) {
    working_folder::forget_for_good();
    return NEXT(setns)(descriptor, kind);
}

// After chroot the same directory may have another path.
HOOK(int, chroot, (const char* path)) {
    working_folder::forget_for_good();
    return NEXT(chroot)(path);
}

// clone: the child does not return from this hook; it begins in `begin`, on its own stack.
HOOK(int, clone, (int (*begin)(void*), void* stack, int flags, void* argument, ...)) {
    va_list more;
    va_start(more, argument);
    auto* parent = va_arg(more, pid_t*);
    void* storage = va_arg(more, void*);
    auto* child = va_arg(more, pid_t*);
    va_end(more);
    if (((flags & CLONE_VM) != 0) != ((flags & CLONE_FS) != 0)) working_folder::forget_for_good();
    return NEXT(clone)(begin, stack, flags, argument, parent, storage, child);
}

}  // namespace tailrace::preload
