#include "preload/call_path.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <unwind.h>

#include <atomic>

#include "preload/loaded_object.hpp"
#include "preload/python_frames.hpp"
#include "trace/log.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {

extern "C" {
constinit bool tailrace_keeps_call_paths = false;
}

namespace {

namespace raw = trace::raw;

constexpr unsigned kFrames = 12;       // the most frames of the program in a call path
constexpr unsigned kMostUnwound = 64;  // the most frames that are unwound, including those of libraries
constexpr uint64_t kPaths = 2048, kProbes = 16;
constexpr uint64_t kTextBytes = 3000;

// A return address, and the place on the stack where it is.
struct Frame {
    const void* const* place;
    const void* address;
};

struct Path {
    unsigned frames = 0;
    bool can_be_recognised = true;
    Frame at[kFrames];
};

// A call path that was seen before. `version` is odd while a thread writes the entry, and all fields are atomic, so that neither
// another thread nor a signal handler needs a lock.
struct KnownPath {
    std::atomic<uint32_t> version;  // 0: empty
    std::atomic<uint32_t> frames;
    std::atomic<uint64_t> stack, hook, python, name;
    std::atomic<const void*> places[kFrames], addresses[kFrames];
};
constinit std::atomic<void*> known_paths = nullptr;  // empty again in a child, whose log needs the names, too
constinit std::atomic<uint32_t> next_victim = 0;

// What identifies a call. The stack pointer and the place in the hook determine the layout of the innermost frame.
struct Key {
    uint64_t stack, hook, python;
};

// Whether the entry belongs to this call. The entry's frames are compared with the stack only after the entry is known to be
// complete: the stack addresses in an incomplete entry may not be readable.
bool is_same(const KnownPath& known, const Key& key, uint64_t& name) {
    const uint32_t version = known.version.load(std::memory_order_acquire);
    if ((version & 1) != 0 || known.stack.load(std::memory_order_relaxed) != key.stack ||
        known.hook.load(std::memory_order_relaxed) != key.hook || known.python.load(std::memory_order_relaxed) != key.python)
        return false;
    const unsigned frames = known.frames.load(std::memory_order_relaxed);
    Frame at[kFrames];
    for (unsigned i = 0; i < frames && i < kFrames; ++i)
        at[i] = {static_cast<const void* const*>(known.places[i].load(std::memory_order_relaxed)),
                 known.addresses[i].load(std::memory_order_relaxed)};
    name = known.name.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (known.version.load(std::memory_order_relaxed) != version) return false;
    for (unsigned i = 0; i < frames; ++i)
        if (*at[i].place != at[i].address) return false;
    return true;
}

void keep(KnownPath& known, const Key& key, const Path& path, uint64_t name) {
    uint32_t version = known.version.load(std::memory_order_relaxed);
    if ((version & 1) != 0 || !known.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return;
    std::atomic_thread_fence(std::memory_order_release);
    known.stack.store(key.stack, std::memory_order_relaxed);
    known.hook.store(key.hook, std::memory_order_relaxed);
    known.python.store(key.python, std::memory_order_relaxed);
    known.frames.store(path.frames, std::memory_order_relaxed);
    known.name.store(name, std::memory_order_relaxed);
    for (unsigned i = 0; i < path.frames; ++i) {
        known.places[i].store(path.at[i].place, std::memory_order_relaxed);
        known.addresses[i].store(path.at[i].address, std::memory_order_relaxed);
    }
    known.version.store(version + 2, std::memory_order_release);
}

// Whether an object is a library between a program and its calls, whose functions are left out of call paths.
bool is_between(const LoadedObject& object) {
    static constexpr const char* kBeginnings[] = {"libmpi",    "libopen-",   "libmca",      "mca_",       "libhdf5",
                                                  "libnetcdf", "libpnetcdf", "libpmpi",     "libstdc++",  "libgcc_s",
                                                  "libc.so",   "libc-",      "libgfortran", "libpthread", "ld-linux",
                                                  "libmpich",  "libpmix",    "libevent",    "libhwloc"};
    const char* file = strrchr(object.path, '/');
    file = file == nullptr ? object.path : file + 1;
    for (const char* beginning : kBeginnings)
        if (strncmp(file, beginning, strlen(beginning)) == 0) return true;
    return false;
}

struct Unwinding {
    Path* path;
    unsigned seen = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* given) {
    auto& unwinding = *static_cast<Unwinding*>(given);
    Path& path = *unwinding.path;
    const auto* address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    if (address == nullptr || ++unwinding.seen > kMostUnwound || path.frames == kFrames) return _URC_END_OF_STACK;
    if (is_ours(address)) return _URC_NO_REASON;
    const LoadedObject object = loaded_object(address);
    if (python_frames::is_interpreter(object)) return _URC_END_OF_STACK;  // from here on, Python's own frames say more
    if (object.path == nullptr || is_between(object)) return _URC_NO_REASON;
    // The unwinder's canonical frame address here is that of the function which was called from `address`.
    const auto* place = reinterpret_cast<const void* const*>(_Unwind_GetCFA(context)) - 1;
    if (*place != address) path.can_be_recognised = false;  // a signal interrupted the program here
    path.at[path.frames++] = {place, address};
    return _URC_NO_REASON;
}

// "OBJECT+0xOFFSET < +0xOFFSET < python FILE:FUNCTION": an object is written where it differs from the one before.
class PathText {
public:
    void add(const void* address) {
        const LoadedObject object = loaded_object(address);
        if (object.path == nullptr || at_ + strlen(object.path) + 32 > kTextBytes) return;
        separate();
        if (object.begin != last_) put(object.path, strlen(object.path));
        last_ = object.begin;
        put("+0x", 3);
        put_hexadecimal(static_cast<uint64_t>(static_cast<const char*>(address) - object.begin));
    }
    void add(const python_frames::Code& code) {
        char file[512], function[256];
        const uint64_t file_bytes = code.file(file, sizeof file), function_bytes = code.function(function, sizeof function);
        if (function_bytes == 0 || at_ + file_bytes + function_bytes + 32 > kTextBytes) return;
        separate();
        put("python ", 7);
        put(file, file_bytes);
        put(":", 1);
        put(function, function_bytes);
    }
    uint64_t name() const { return at_ == 0 ? 0 : trace::name_id(text_, at_); }

private:
    void put(const char* text, uint64_t bytes) {
        memcpy(text_ + at_, text, bytes);
        at_ += bytes;
    }
    void put_hexadecimal(uint64_t number) {
        for (int shift = 60, begun = 0; shift >= 0; shift -= 4) {
            const auto digit = static_cast<unsigned>(number >> shift & 15);
            if (digit == 0 && begun == 0 && shift > 0) continue;
            begun = 1;
            text_[at_++] = "0123456789abcdef"[digit];
        }
    }
    void separate() {
        if (at_ > 0) put(" < ", 3);
    }

    uint64_t at_ = 0;
    const char* last_ = nullptr;
    char text_[kTextBytes];
};

[[gnu::noinline]] uint64_t unwind(const Key& key, const python_frames::Codes* codes, KnownPath* place) {
    const int code = errno;
    Path path;
    Unwinding unwinding{&path};
    _Unwind_Backtrace(add_frame, &unwinding);
    PathText text;
    for (unsigned i = 0; i < path.frames; ++i) text.add(path.at[i].address);
    for (unsigned i = 0; codes != nullptr && i < codes->count; ++i) text.add(codes->at[i]);
    const uint64_t name = text.name();
    if (place != nullptr && path.can_be_recognised) keep(*place, key, path, name);
    errno = code;
    return name;
}

// The call path of the call that `key` identifies. `codes`: the Python functions; nullptr outside of Python.
uint64_t find(const Key& key, const python_frames::Codes* codes) {
    auto* all = static_cast<KnownPath*>(trace::process_memory(known_paths, kPaths * sizeof(KnownPath)));
    if (all == nullptr) return unwind(key, codes, nullptr);
    const uint64_t start = (key.stack ^ key.hook * 3 ^ key.python) * 0x9E3779B97F4A7C15 >> 40;
    KnownPath* empty = nullptr;
    for (uint64_t probe = 0; probe < kProbes && empty == nullptr; ++probe) {
        KnownPath& known = all[(start + probe) % kPaths];
        uint64_t name = 0;
        if (known.version.load(std::memory_order_relaxed) == 0)
            empty = &known;
        else if (is_same(known, key, name))
            return name;
    }
    if (empty == nullptr) empty = &all[(start + next_victim.fetch_add(1, std::memory_order_relaxed) % kProbes) % kPaths];
    return unwind(key, codes, empty);
}

[[gnu::noinline]] uint64_t find_in_python(Key key) {
    const python_frames::Codes codes = python_frames::codes();
    key.python = codes.hash;
    return find(key, &codes);
}

// The call path of the call whose hook has its frame at `stack`.
inline uint64_t find(const void* stack, const void* hook) {
    const Key key = {reinterpret_cast<uint64_t>(stack), reinterpret_cast<uint64_t>(hook), 0};
    return python_frames::is_known() ? find_in_python(key) : find(key, nullptr);
}

constexpr bool is_io(const char* group) {
    constexpr const char* kGroups[] = {"read", "write", "stdio_read", "stdio_write", "sync", "close"};
    for (const char* each : kGroups) {
        unsigned i = 0;
        while (each[i] != '\0' && each[i] == group[i]) ++i;
        if (each[i] == group[i]) return true;
    }
    return false;
}

constexpr uint16_t kCalls = 512;
struct CallsWithPath {
    bool of[kCalls] = {};
    constexpr CallsWithPath() {
#define TAILRACE_CALL(name, number, group) \
    if ((number) < kCalls) of[(number) % kCalls] = is_io(#group);
#include "trace/calls.def"
#undef TAILRACE_CALL
    }
};
constexpr CallsWithPath kHasPath;

}  // namespace

void keep_call_paths() {
    prepare_loaded_objects();
    python_frames::prepare();
    tailrace_keeps_call_paths = true;
}

uint64_t find_call_path() { return find(__builtin_frame_address(0), __builtin_return_address(0)); }

uint64_t find_io_call_path(trace::Call call) {
    const auto number = static_cast<uint16_t>(call);
    if (number >= kCalls || !kHasPath.of[number]) return 0;
    return find(__builtin_frame_address(0), __builtin_return_address(0));
}

}  // namespace tailrace::preload
