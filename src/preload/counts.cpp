#include "preload/counts.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "trace/memory.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload::counts {
namespace {

namespace raw = trace::raw;

constexpr char kCounts[] = "/.tailrace-drain/counts";
constinit std::atomic<place::ScratchCounts*> shared = nullptr;

void add_path(const char* below, std::atomic<uint64_t>& count, std::atomic<uint32_t>& has_first, char (&first)[1024]) {
    count.fetch_add(1, std::memory_order_relaxed);
    if (has_first.exchange(1, std::memory_order_relaxed) != 0) return;
    const uint64_t bytes = strlen(below);
    memcpy(first, below, bytes < sizeof first ? bytes : sizeof first);
}

place::ScratchCounts* all() { return shared.load(std::memory_order_relaxed); }

}  // namespace

void begin(const char* scratch) {
    char path[4096 + sizeof kCounts];
    const uint64_t bytes = raw::put_text(path, scratch, 4096);
    raw::put_text(path + bytes, kCounts, sizeof kCounts);
    const int64_t file = raw::call(SYS_openat, AT_FDCWD, raw::address(path), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat is;
    if (file < 0) return;
    if (raw::call(SYS_fstat, file, raw::address(&is)) == 0 && is.st_size >= static_cast<off_t>(sizeof(place::ScratchCounts))) {
        void* const at = trace::map_memory(sizeof(place::ScratchCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at != nullptr) shared.store(static_cast<place::ScratchCounts*>(at), std::memory_order_relaxed);
    }
    raw::call(SYS_close, file);
}

void add_on_scratch() {
    if (all() != nullptr) all()->on_scratch.fetch_add(1, std::memory_order_relaxed);
}

void add_at_target(const char* below) {
    if (all() != nullptr) add_path(below, all()->at_target, all()->has_first, all()->first);
}

void add_unanswered(const char* below) {
    if (all() != nullptr) add_path(below, all()->unanswered, all()->has_first_unanswered, all()->first_unanswered);
}

std::atomic<uint32_t>* agent_is_silent() { return all() == nullptr ? nullptr : &all()->agent_is_silent; }

place::NamesLock* names_lock() {
    const bool is_needed = all() != nullptr && all()->names.is_needed.load(std::memory_order_relaxed) != 0;
    return is_needed ? &all()->names : nullptr;
}

}  // namespace tailrace::preload::counts
