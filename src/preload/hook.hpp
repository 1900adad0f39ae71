// The parts of a hook:
//
//   HOOK(ssize_t, pread, (int descriptor, void* to, size_t bytes, off_t offset)) {
//       Traced call(Call::pread, descriptor);
//       return call.finish(NEXT(pread)(descriptor, to, bytes, offset), {.offset = offset, .bytes = bytes});
//   }
//
// A hook has the symbol's name for the linker only, so it does not collide with the C library's declaration. It calls the next
// definition of that name. Hooks run before constructors, after destructors, in signal handlers and in children of vfork. So a hook
// takes no lock, calls neither malloc nor another hook, and leaves errno as the call has set it.
#pragma once

#include <dlfcn.h>
#include <errno.h>

#include <atomic>
#include <type_traits>

#include "preload/call_path.hpp"
#include "preload/files.hpp"
#include "preload/loader.hpp"
#include "trace/log.hpp"

#define HOOK(result, symbol, parameters)                                                    \
    extern "C" [[gnu::visibility("default")]] result hook_##symbol parameters asm(#symbol); \
    extern "C" [[gnu::visibility("default")]] result hook_##symbol parameters

// A list in brackets, without the brackets.
#define UNPACKED(...) __VA_ARGS__

// NEXT(symbol): the function that the program would call without the tracer.
#define NEXT(symbol)                                                                                                            \
    ([] {                                                                                                                       \
        [[gnu::section("tailrace_next")]] static constinit ::tailrace::preload::NextDefinition definition = {nullptr, #symbol}; \
        return ::tailrace::preload::next<decltype(&hook_##symbol)>(definition);                                                 \
    }())

namespace tailrace::preload {

using trace::Call;

// All next definitions are looked up when this library is loaded. A later look-up could deadlock: it takes the loader's lock, which
// another thread may hold while it waits for this one. It would also clear the text of the program's dlerror().
struct NextDefinition {
    std::atomic<void*> function;
    const char* symbol;
};

void* find_next(NextDefinition& definition);

template <class Function>
Function next(NextDefinition& definition) {
    void* function = definition.function.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]]  // this hook runs before the constructor, or the C library has no such symbol
        function = find_next(definition);
    return reinterpret_cast<Function>(function);
}

// Set while this thread records nothing: in a child of vfork, which shares its parent's memory, and while the tracer itself calls a
// library.
extern "C" {
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] extern thread_local constinit char tailrace_silent;
}

// The libraries in whose calls this thread is at the moment, as flags of an event (trace::Within).
extern "C" {
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] extern thread_local constinit uint16_t tailrace_within;
}

// The fields of an event besides times, descriptor, file and result.
struct CallInfo {
    int64_t offset = trace::kNoOffset;
    uint64_t bytes = 0, detail = 0;
    uint16_t flags = 0;
};

// One call while it runs.
class Traced {
public:
    explicit Traced(Call call, int descriptor = -1) : call_(call), within_(tailrace_within), descriptor_(descriptor) {
        is_recording_ = !tailrace_silent && trace::is_recording();
        if (!is_recording_) return;
        if (tailrace_has_loaded) [[unlikely]]
            count_loads();
        begin_ns_ = trace::now_ns();
    }
    bool is_recording() const { return is_recording_; }

    // Records the result of the call and returns it. A null pointer or a number less than 0 means that the call failed, with errno.
    template <class Result>
    Result finish(Result result, const CallInfo& info = {}, uint64_t file = 0) {
        if constexpr (std::is_pointer_v<Result>)
            record(result == nullptr ? -int64_t{errno} : 0, info, file);
        else
            record(result < 0 ? -int64_t{errno} : static_cast<int64_t>(result), info, file);
        return result;
    }
    // Records the result of a call that reports errors in another way. `result`: -errno if the call failed.
    void record(int64_t result, const CallInfo& info = {}, uint64_t file = 0) {
        if (!is_recording_) [[unlikely]]
            return;
        const int code = errno;
        const uint64_t now_ns = trace::now_ns(), end_ns = now_ns > begin_ns_ ? now_ns : begin_ns_;
        if (file == 0 && descriptor_ >= 0) file = file_id(descriptor_);
        const uint64_t detail = info.detail == 0 ? io_call_path(call_) : info.detail;
        trace::record({begin_ns_, end_ns, static_cast<uint16_t>(call_), static_cast<uint16_t>(info.flags | within_), descriptor_,
                       file, info.offset, info.bytes, result, detail});
        errno = code;
    }
    void set_descriptor(int descriptor) { descriptor_ = descriptor; }
    void set_call(Call call) { call_ = call; }

private:
    Call call_;
    uint16_t within_;
    int descriptor_;
    bool is_recording_;
    uint64_t begin_ns_ = 0;
};

// The id of the file in the argument `path` of a call. Use it only after the call: with a bad pointer the call fails with EFAULT,
// and `path` must not be read.
inline uint64_t named_file(const Traced& call, const char* path, int directory, bool failed) {
    return call.is_recording() && !(failed && errno == EFAULT) ? file_id(path, directory) : 0;
}

}  // namespace tailrace::preload
