// fork and the like. A child begins its own log at once, so that a missing log means that the tracer was not loaded. A child of the
// plain system call begins its log with its first recorded call.
#include "preload/hook.hpp"
#include "preload/working_folder.hpp"

struct termios;
struct winsize;

namespace tailrace::preload {
namespace {

// Forks by calling `fork`, and records the call.
template <class Fork>
pid_t record_fork(Fork fork) {
    Traced call(Call::fork);
    const link_map* const last = call.is_recording() ? loads_before_fork() : nullptr;
    const pid_t child = fork();
    if (child != 0)
        call.finish(child);
    else if (trace::is_recording())
        begin_loads_of_child(last);
    return child;
}

}  // namespace

#define FORK(symbol) \
    HOOK(pid_t, symbol, (void)) { return record_fork(NEXT(symbol)); }
FORK(fork)
FORK(__fork)
FORK(_Fork)

HOOK(pid_t, forkpty, (int* terminal, char* name, const termios* settings, const winsize* size)) {
    return record_fork([&] { return NEXT(forkpty)(terminal, name, settings, size); });
}

// In daemon(), this process ends, and its child returns from the call.
HOOK(int, daemon, (int keeps_folder, int keeps_streams)) {
    const bool records = !tailrace_silent && trace::is_recording();
    const link_map* const last = records ? loads_before_fork() : nullptr;
    if (records) trace::end_log();
    const int result = NEXT(daemon)(keeps_folder, keeps_streams);
    working_folder::forget();
    if (records && result == 0 && trace::is_recording()) begin_loads_of_child(last);
    return result;
}

}  // namespace tailrace::preload
