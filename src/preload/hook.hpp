// What every hook is made of:
//
//   HOOK(ssize_t, pread, (int descriptor, void* to, size_t bytes, off_t offset)) {
//       Traced call(Call::pread, descriptor);
//       return call.done(NEXT(pread)(descriptor, to, bytes, offset), {.offset = offset, .bytes = bytes});
//   }
//
// A hook has the symbol's name only for the linker, so that no declaration of the C library is in its way, and calls the next
// definition of that name. Hooks run before constructors and after destructors, in signal handlers and in children of vfork: they
// take no lock, no memory and no other hook's way, and leave errno as the call has left it.
#pragma once

#include <dlfcn.h>
#include <errno.h>

#include <atomic>
#include <type_traits>

#include "preload/files.hpp"
#include "trace/log.hpp"

#define HOOK(result, symbol, parameters)                                                    \
    extern "C" [[gnu::visibility("default")]] result hook_##symbol parameters asm(#symbol); \
    extern "C" [[gnu::visibility("default")]] result hook_##symbol parameters

// A list in brackets without these.
#define UNPACKED(...) __VA_ARGS__

// The definition of a hooked symbol that the program would have called without us.
#define NEXT(symbol)                                                                                                            \
    ([] {                                                                                                                       \
        [[gnu::section("tailrace_next")]] static constinit ::tailrace::preload::NextDefinition definition = {nullptr, #symbol}; \
        return ::tailrace::preload::next<decltype(&hook_##symbol)>(definition);                                                 \
    }())

namespace tailrace::preload {

using trace::Call;

// All of them are looked for when this library is loaded. To look later takes the loader's lock, which a thread that loads a
// library may hold while it waits for this one, and forgets what dlerror() would have told the program.
struct NextDefinition {
    std::atomic<void*> function;
    const char* symbol;
};

void* find_next(NextDefinition& definition);

template <class Function>
Function next(NextDefinition& definition) {
    void* function = definition.function.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]]  // a hook that runs before our constructor, or the C library has none
        function = find_next(definition);
    return reinterpret_cast<Function>(function);
}

// This thread records nothing: it is a child of vfork, which shares the memory of its parent, or asks a library in our name.
extern "C" {
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] extern thread_local constinit char tailrace_silent;
}

// Within which libraries' calls this thread is: flags of an event.
extern "C" {
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] extern thread_local constinit uint16_t tailrace_within;
}

// What an event says of a call besides its answer.
struct About {
    int64_t offset = trace::kNowhere;
    uint64_t bytes = 0, detail = 0;
    uint16_t flags = 0;
};

// One call while it runs.
class Traced {
public:
    explicit Traced(Call call, int descriptor = -1) : call_(call), within_(tailrace_within), descriptor_(descriptor) {
        on_ = !tailrace_silent && trace::is_on();
        if (on_) begin_ns_ = trace::now_ns();
    }
    bool on() const { return on_; }

    // Records what the call answered, and hands that on. Calls that answer a pointer fail with none, others with less than 0.
    template <class Result>
    Result done(Result result, const About& about = {}, uint64_t file = 0) {
        if constexpr (std::is_pointer_v<Result>)
            note(result == nullptr ? -int64_t{errno} : 0, about, file);
        else
            note(result < 0 ? -int64_t{errno} : static_cast<int64_t>(result), about, file);
        return result;
    }
    // The same for calls that answer otherwise: less than 0 is minus an errno.
    void note(int64_t answer, const About& about = {}, uint64_t file = 0) {
        if (!on_) [[unlikely]]
            return;
        const int code = errno;
        const uint64_t end_ns = trace::now_ns();
        if (file == 0 && descriptor_ >= 0) file = file_of(descriptor_);
        trace::record({begin_ns_, end_ns, static_cast<uint16_t>(call_), static_cast<uint16_t>(about.flags | within_), descriptor_,
                       file, about.offset, about.bytes, answer, about.detail});
        errno = code;
    }
    void set_descriptor(int descriptor) { descriptor_ = descriptor; }
    void set_call(Call call) { call_ = call; }

private:
    Call call_;
    uint16_t within_;
    int descriptor_;
    bool on_;
    uint64_t begin_ns_ = 0;
};

// The file that a call has named. After the call: before, the name may be memory that is none.
inline uint64_t named(const Traced& call, const char* path, int directory, bool failed) {
    return call.on() && !(failed && errno == EFAULT) ? file_of(path, directory) : 0;
}

}  // namespace tailrace::preload
