#include "preload/python_frames.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <atomic>

#include "trace/raw.hpp"

namespace tailrace::preload::python_frames {
namespace {

namespace raw = trace::raw;

constexpr uint32_t kNone = ~0u;

// Field offsets in bytes, on x86-64, for builds with the global lock. From the public headers of each version (Include/cpython,
// Include/internal). `thread_id`: the field with the result of pthread_self().
struct Layout {
    unsigned minor;
    uint32_t thread_id, frame;       // of a thread state
    uint32_t frame_in_holder;        // 3.11 and 3.12: the thread state points to a _PyCFrame, which has the frame
    uint32_t previous, code, owner;  // of a frame
    uint32_t file, function;         // of a code object
    uint32_t text;                   // the text of an ASCII string
};
constexpr Layout kLayouts[] = {
    {9, 176, 24, kNone, 24, 32, kNone, 104, 112, 48}, {10, 176, 24, kNone, 24, 32, kNone, 104, 112, 48},
    {11, 152, 56, 8, 48, 32, 69, 112, 128, 48},       {12, 136, 56, 0, 8, 0, 70, 112, 128, 40},
    {13, 152, 72, kNone, 8, 0, 70, 112, 128, 40},     {14, 152, 72, kNone, 8, 0, 74, 112, 128, 40},
};
constexpr uint32_t kTypeOfObject = 8, kLengthOfText = 16, kStateOfText = 32;
constexpr uint32_t kIsAscii = 1u << 6, kIsCompact = 1u << 5;
constexpr uint64_t kPointerTag = 7;  // 3.14 marks references in their lowest bits
constexpr uint8_t kFirstOwnerWithoutCode = 3;

constinit const Layout* layout = nullptr;  // nullptr: no Python, or another version
constinit const void* code_type = nullptr;
constinit const char* interpreter = nullptr;  // where the object with the interpreter is loaded
constinit std::atomic<uint32_t> thread_key = kNone;

// Whether eight bytes at this address are readable: calls rt_sigprocmask, which copies the signal set before it finds that the
// first argument is invalid.
bool is_readable(const void* at) {
    constexpr int kInvalid = -1;
    return raw::call(SYS_rt_sigprocmask, kInvalid, raw::address(at), 0, 8) != -EFAULT;
}

// Pages that are known to be readable. A wrong offset would give an invalid pointer, so each page is tested once before it is read.
// Pages that the interpreter frees later stay in this list; a live frame does not point to them.
constexpr uint64_t kPageBits = 12, kPages = 512;
constinit std::atomic<uint64_t> readable_pages[kPages] = {};

bool is_known_readable(const char* at) {
    const uint64_t page = reinterpret_cast<uint64_t>(at) >> kPageBits;
    if (page == 0) return false;
    std::atomic<uint64_t>& known = readable_pages[page % kPages];
    if (known.load(std::memory_order_relaxed) == page) return true;
    if (!is_readable(at)) return false;
    known.store(page, std::memory_order_relaxed);
    return true;
}

// Reads a field; false: the memory cannot be read.
template <class Value>
bool read(const char* object, uint32_t offset, Value& value) {
    const char* at = object + offset;
    if ((reinterpret_cast<uint64_t>(at) & (sizeof(Value) - 1)) != 0 || !is_known_readable(at)) return false;
    memcpy(&value, at, sizeof value);
    return true;
}

bool is_state_of_this_thread(const char* state) {
    uint64_t thread = 0;
    return state != nullptr && read(state, layout->thread_id, thread) && thread == static_cast<uint64_t>(pthread_self());
}

// Finds this thread's Python thread state: Python stores it under a pthread key, and it contains this thread's number.
const char* thread_state() {
    const uint32_t key = thread_key.load(std::memory_order_relaxed);
    if (key != kNone) {
        const auto* state = static_cast<const char*>(pthread_getspecific(key));
        return is_state_of_this_thread(state) ? state : nullptr;
    }
    constexpr uint32_t kKeysToTry = 128;
    for (uint32_t candidate = 0; candidate < kKeysToTry; ++candidate) {
        const auto* state = static_cast<const char*>(pthread_getspecific(candidate));
        if (!is_state_of_this_thread(state)) continue;
        thread_key.store(candidate, std::memory_order_relaxed);
        return state;
    }
    return nullptr;
}

uint64_t read_text(const char* object, uint32_t offset, char* to, uint64_t room) {
    const char* text = nullptr;
    uint64_t length = 0;
    uint32_t state = 0;
    if (!read(object, offset, text) || text == nullptr || !read(text, kLengthOfText, length) || !read(text, kStateOfText, state))
        return 0;
    if ((state & (kIsAscii | kIsCompact)) != (kIsAscii | kIsCompact) || length == 0 || length > room) return 0;
    const char* begin = text + layout->text;
    if (!is_known_readable(begin) || !is_known_readable(begin + length - 1)) return 0;
    memcpy(to, begin, length);
    return length;
}

// The minor version of a Python before 3.11, from the name of its file, such as libpython3.9.so.1.0: it has no variable with it.
unsigned version_in(const char* path) {
    const char* at = strstr(path, "python3.");
    for (const char* more = at; more != nullptr; more = strstr(more + 1, "python3.")) at = more;
    unsigned minor = 0;
    if (at != nullptr)
        for (at += 8; *at >= '0' && *at <= '9' && minor < 100; ++at) minor = minor * 10 + static_cast<unsigned>(*at - '0');
    return minor;
}

}  // namespace

uint64_t Code::file(char* to, uint64_t room) const { return read_text(object_, layout->file, to, room); }
uint64_t Code::function(char* to, uint64_t room) const { return read_text(object_, layout->function, to, room); }

void prepare() {
    if (layout != nullptr) return;
    code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    // Builds without the global lock have other offsets, and this function.
    if (code_type == nullptr || dlsym(RTLD_DEFAULT, "_Py_MergeZeroLocalRefcount") != nullptr) return;
    const LoadedObject object = loaded_object(code_type);
    if (object.path == nullptr) return;
    const auto* version = static_cast<const unsigned long*>(dlsym(RTLD_DEFAULT, "Py_Version"));
    const unsigned minor = version != nullptr && *version >> 24 == 3 ? *version >> 16 & 0xFF : version_in(object.path);
    for (const Layout& known : kLayouts) {
        if (known.minor != minor) continue;
        interpreter = object.begin;
        layout = &known;
    }
}

bool is_known() { return layout != nullptr; }

Codes codes() {
    Codes found;
    if (layout == nullptr) return found;
    const char* const state = thread_state();
    const char* frame = nullptr;
    if (state == nullptr || !read(state, layout->frame, frame)) return found;
    if (layout->frame_in_holder != kNone && (frame == nullptr || !read(frame, layout->frame_in_holder, frame))) return found;
    for (unsigned steps = 0; frame != nullptr && found.count < Codes::kMost && steps < 2 * Codes::kMost; ++steps) {
        uint64_t code = 0;
        uint8_t owner = 0;
        const void* type = nullptr;
        if (!read(frame, layout->code, code)) break;
        if (layout->owner != kNone && !read(frame, layout->owner, owner)) break;
        const auto* object = reinterpret_cast<const char*>(code & ~kPointerTag);
        // Frames of the interpreter itself, between functions in C and in Python, have no code.
        if (owner < kFirstOwnerWithoutCode && object != nullptr && read(object, kTypeOfObject, type) && type == code_type) {
            found.at[found.count++] = Code(object);
            found.hash = (found.hash ^ code) * 0x9E3779B97F4A7C15 + 1;
        }
        if (!read(frame, layout->previous, frame)) break;
    }
    return found;
}

bool is_interpreter(const LoadedObject& object) { return interpreter != nullptr && object.begin == interpreter; }

}  // namespace tailrace::preload::python_frames
