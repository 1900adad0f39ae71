// Call paths: the functions of the program that led to a call, innermost first. A phase is named by them (docs/phases.md).
//
// Call paths are recorded from the end of MPI_Init on. A known call path is recognised by its return addresses on the stack; only a
// new one is unwound.
#pragma once

#include <cstdint>

#include "trace/format.hpp"

namespace tailrace::preload {

extern "C" {
[[gnu::visibility("hidden")]] extern bool tailrace_keeps_call_paths;
}

// Starts to record call paths. Called only where the dynamic loader's lock may be taken.
void keep_call_paths();

[[gnu::noinline]] uint64_t find_call_path();
[[gnu::noinline]] uint64_t find_io_call_path(trace::Call call);

// The id of the call path's name in the log; 0 if the stack has no function of the program. Called within a hook.
inline uint64_t call_path() {
    if (!tailrace_keeps_call_paths) [[likely]]
        return 0;
    return find_call_path();
}
// call_path() for calls that read, write, sync or close a file; 0 for other calls.
inline uint64_t io_call_path(trace::Call call) {
    if (!tailrace_keeps_call_paths) [[likely]]
        return 0;
    return find_io_call_path(call);
}

// Whether an address lies in the tracer itself.
bool is_ours(const void* address);

}  // namespace tailrace::preload
