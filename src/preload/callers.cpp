#include "preload/callers.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "preload/call_path.hpp"
#include "preload/files.hpp"
#include "trace/log.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {

extern "C" {
// The library function that the tracer has called on this thread and that has not returned yet.
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] thread_local constinit const void* tailrace_called_function = nullptr;
}

// The linker defines these: the two ends of this library in memory.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start, _end;

bool is_ours(const void* address) {
    const auto* at = static_cast<const char*>(address);
    return at >= &__ehdr_start && at < &_end;
}

namespace {

constexpr uint64_t kSites = 4096, kProbes = 16;

struct KnownSite {
    std::atomic<const void*> address;
    std::atomic<const void*> object;  // stored last
    uint64_t name;
};
constinit std::atomic<void*> sites = nullptr;  // empty again in a child, whose log needs the names, too

Site look_up(const void* address) {
    const int code = errno;
    Dl_info info = {};
    void* object = nullptr;
    if (dladdr1(address, &info, &object, RTLD_DL_LINKMAP) == 0) info = {};
    char name[4096 + 32];
    uint64_t at = info.dli_fname == nullptr ? 0 : strnlen(info.dli_fname, 4096);
    memcpy(name, info.dli_fname == nullptr ? "" : info.dli_fname, at);
    memcpy(name + at, "+0x", 3);
    at += 3;
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(info.dli_fbase);
    for (int shift = 60, begun = 0; shift >= 0; shift -= 4) {
        const auto digit = static_cast<unsigned>(offset >> shift & 15);
        if (digit == 0 && !begun && shift > 0) continue;
        begun = 1;
        name[at++] = "0123456789abcdef"[digit];
    }
    errno = code;
    return {object, trace::name_id(name, at)};
}

// Looks in the libraries of the calling object; for the main program, in all global ones.
void* find(const char* symbol, const void* object) {
    const int code = errno;
    const auto* map = static_cast<const link_map*>(object);
    void* found = nullptr;
    if (map != nullptr && map->l_name != nullptr && map->l_name[0] != '\0')
        // The handle is not closed, so that the object stays loaded and the cached addresses stay valid.
        if (void* handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD)) found = dlsym(handle, symbol);
    if (found == nullptr) found = dlsym(RTLD_NEXT, symbol);
    errno = code;
    return found;
}

}  // namespace

Word call_words(void* function, const Words& words) {
    if (function == nullptr) return kNoFunction;
    const Word* a = words.at;
    const void* before = tailrace_called_function;
    tailrace_called_function = function;
    const Word result =
        reinterpret_cast<LibraryFunction>(function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
    tailrace_called_function = before;
    return result;
}

Site site_of(const void* return_address) {
    if (is_ours(return_address) && tailrace_called_function != nullptr) return_address = tailrace_called_function;
    auto* all = static_cast<KnownSite*>(trace::process_memory(sites, kSites * sizeof(KnownSite)));
    if (all == nullptr) return look_up(return_address);
    const uint64_t start = reinterpret_cast<uint64_t>(return_address) * 0x9E3779B97F4A7C15 >> 52;
    for (uint64_t probe = 0; probe < kProbes; ++probe) {
        KnownSite& known = all[(start + probe) % kSites];
        const void* there = known.address.load(std::memory_order_relaxed);
        if (there == nullptr && known.address.compare_exchange_strong(there, return_address)) {
            const Site site = look_up(return_address);
            known.name = site.name;
            known.object.store(site.object, std::memory_order_release);
            return site;
        }
        if (there != return_address) continue;
        const void* object = known.object.load(std::memory_order_acquire);
        return object == nullptr ? look_up(return_address) : Site{object, known.name};
    }
    return look_up(return_address);
}

void* next_of_caller(NextOfCallers& known, const char* symbol, const void* object) {
    for (unsigned i = 0; i < NextOfCallers::kMost; ++i) {
        const void* there = known.objects[i].load(std::memory_order_relaxed);
        if (there == nullptr && known.objects[i].compare_exchange_strong(there, object)) there = object;
        if (there != object) continue;
        void* function = known.functions[i].load(std::memory_order_relaxed);
        if (function != nullptr) return function;
        function = find(symbol, object);
        known.functions[i].store(function, std::memory_order_relaxed);
        return function;
    }
    return find(symbol, object);
}

}  // namespace tailrace::preload
