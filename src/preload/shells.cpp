// Shells that the C library starts within its functions (system, popen). They get this process's environment, which no hook can
// change. If it lacks the tracer's variables, the shell is not recorded, and the log says so.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "preload/child_environment.hpp"
#include "preload/stream.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {
namespace {

constexpr char kShell[] = "/bin/sh";

uint64_t of_environment() { return ChildEnvironment(kShell, Search::none, environ).is_unchanged() ? 0 : trace::kLosesTracer; }

// The process of a stream of popen; 0: not known. Its number is stored behind the stream (struct _IO_proc_file, since glibc 2.1).
pid_t process_of(const FILE* stream) {
    pid_t process;
    memcpy(&process, reinterpret_cast<const char*>(stream) + sizeof(FILE) + sizeof(void*), sizeof process);
    siginfo_t unused = {};
    const bool is_child = process > 0 && trace::raw::call(SYS_waitid, P_PID, process, trace::raw::address(&unused),
                                                          WEXITED | WNOHANG | WNOWAIT, 0) == 0;
    return is_child ? process : 0;
}

// Whether words have $(...) or `...`, which a shell runs; $((...)) is arithmetic.
bool has_commands(const char* words) {
    for (const char* at = words; *at != '\0'; ++at)
        if (*at == '`' || (at[0] == '$' && at[1] == '(' && at[2] != '(')) return true;
    return false;
}

}  // namespace

HOOK(int, system, (const char* command)) {
    Traced call(Call::spawn);
    const uint64_t detail = call.is_recording() && command != nullptr ? of_environment() : 0;
    return call.finish(NEXT(system)(command), {.detail = detail});
}

HOOK(FILE*, popen, (const char* command, const char* mode)) {
    Traced opens(Call::fopen), starts(Call::spawn);
    FILE* const stream = NEXT(popen)(command, mode);
    if (starts.is_recording() && stream != nullptr) {
        const pid_t process = process_of(stream);
        const uint64_t detail = process > 0 ? trace::kHasProcess : of_environment();
        starts.record(process, {.detail = detail}, file_id(kShell));
    }
    const int descriptor = descriptor_of(stream);
    if (opens.is_recording() && descriptor >= 0) fd_table::set(descriptor, 0);
    opens.set_descriptor(descriptor);
    return opens.finish(stream);
}

HOOK(int, wordexp, (const char* words, wordexp_t* result, int flags)) {
    Traced call(Call::spawn);
    const bool has_shell = call.is_recording() && (flags & WRDE_NOCMD) == 0 && has_commands(words);
    const uint64_t detail = has_shell ? of_environment() : 0;
    const int code = NEXT(wordexp)(words, result, flags);
    if (detail != 0) call.record(code, {.detail = detail});
    return code;
}

}  // namespace tailrace::preload
