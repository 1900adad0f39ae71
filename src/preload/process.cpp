// Processes: their beginning and end, children of vfork, and other programs. A child of vfork records nothing but the program that
// it becomes.
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/call_files.hpp"
#include "preload/child_environment.hpp"
#include "preload/loader.hpp"
#include "preload/stream.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {
extern "C" {
thread_local constinit char tailrace_silent = 0;
}
}  // namespace tailrace::preload

// vfork is written in assembly, because it returns twice through one stack frame, so no function that returns in between may call
// it. The return address is kept in a register, as in the C library. The child, which uses the parent's memory, sets
// tailrace_silent to 2; the parent clears it when it continues.
asm(R"(
    .text
    .globl vfork
    .globl __vfork
    .type vfork, @function
    .type __vfork, @function
vfork:
__vfork:
    endbr64
    popq %rdi
    movl $58, %eax
    syscall
    pushq %rdi
    movq tailrace_silent@gottpoff(%rip), %rdx
    cmpq $-4095, %rax
    jae 2f
    testq %rax, %rax
    jne 1f
    movb $2, %fs:(%rdx)
    ret
1:  movb $0, %fs:(%rdx)
    ret
2:  negl %eax
    pushq %rax
    call __errno_location@PLT
    popq %rdx
    movl %edx, (%rax)
    movq $-1, %rax
    ret
    .size vfork, .-vfork
)");

namespace tailrace::preload {

// Ends the log with the kernel's counts of this moment. Later calls of the process are still recorded. The C library writes the
// rest of its streams after the destructors, so these bytes are recorded here.
[[gnu::destructor(101)]] static void end() {
    if (!trace::is_recording()) return;
    count_loads();
    trace::end_log();
    record_unwritten_streams();
    streams_count_as_flushed = true;
}

// Begins the log at once, so that a program that makes no call has a log, too.
[[gnu::constructor(101)]] static void begin() {
    if (trace::is_recording()) begin_loads();
}

#define EXIT_NOW(symbol)                                                     \
    HOOK(void, symbol, (int status)) {                                       \
        if (!tailrace_silent) {                                              \
            if (tailrace_has_loaded && trace::is_recording()) count_loads(); \
            trace::end_log();                                                \
        }                                                                    \
        NEXT(symbol)(status);                                                \
        __builtin_unreachable();                                             \
    }
EXIT_NOW(_exit)
EXIT_NOW(_Exit)

// posix_spawn and the like, which return an errno. The child's process number is recorded as the result.
#define SPAWN(symbol, search)                                                                                                \
    HOOK(int, symbol,                                                                                                        \
         (pid_t * process, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, \
          char* const argv[], char* const envp[])) {                                                                         \
        Traced call(Call::spawn);                                                                                            \
        pid_t child = 0;                                                                                                     \
        const bool is_searched = search == Search::in_path && strchr(path, '/') == nullptr;                                  \
        const placing::ChosenPath chosen(is_searched ? nullptr : path);                                                      \
        const char* const program = is_searched ? path : chosen.path();                                                      \
        const auto spawn = [&](char* const* use) { return NEXT(symbol)(&child, program, actions, attributes, argv, use); };  \
        const bool keeps = call.is_recording() || placing::is_on();                                                          \
        const int code = keeps ? with_child_environment(program, search, envp, spawn) : spawn(envp);                         \
        if (process != nullptr && code == 0) *process = child;                                                               \
        call.record(code != 0 ? -int64_t{code} : int64_t{child}, {.detail = trace::kHasProcess},                             \
                    named_file(call, path, AT_FDCWD, false));                                                                \
        return code;                                                                                                         \
    }

SPAWN(posix_spawn, Search::none)
SPAWN(posix_spawnp, Search::in_path)

// What a child of vfork records of itself, in its parent's log: its process number, and the program that it becomes.
static void record_child_of_vfork(const char* path, int64_t result) {
    const int code = errno;
    const int64_t process = trace::raw::call(SYS_getpid);
    const uint64_t now = trace::now_ns();
    trace::record({now, now, static_cast<uint16_t>(Call::spawn), tailrace_within, -1, path == nullptr ? 0 : file_id(path),
                   trace::kNoOffset, static_cast<uint64_t>(process), result < 0 ? result : process, trace::kHasProcess});
    errno = code;
}

// exec and the like. Records the call before it is made, because it does not return; records it again if it failed.
template <class Replace>
int record_exec(const char* path, Search search, char* const* environment, Replace replace_by) {
    constexpr char kChildOfVfork = 2;
    const bool is_searched = search == Search::in_path && path != nullptr && strchr(path, '/') == nullptr;
    const placing::ChosenPath chosen(is_searched ? nullptr : path);
    const char* const program = is_searched ? path : chosen.path();
    const auto replace = [&](char* const* use) { return replace_by(program, use); };
    if (tailrace_silent && tailrace_silent != kChildOfVfork) return replace(environment);
    if (!trace::is_recording())
        return placing::is_on() ? with_child_environment(program, search, environment, replace) : replace(environment);
    // A child of clone may also share its parent's memory; then this log is the parent's.
    if (tailrace_silent == kChildOfVfork || !trace::has_own_log()) {
        record_child_of_vfork(path, 0);
        const int result = with_child_environment(program, search, environment, replace);
        record_child_of_vfork(path, -int64_t{errno});
        return result;
    }
    Traced call(Call::exec);
    const int result = with_child_environment(program, search, environment, [&](char* const* use) {
        call.record(0, {}, file_id(path));
        trace::end_log();
        return replace(use);
    });
    return call.finish(result, {}, named_file(call, path, AT_FDCWD, result < 0));
}

// `next`: the form that takes an environment, of which `environment` is what the program asked for.
#define EXEC(symbol, parameters, search, environment, next, ...)                                            \
    HOOK(int, symbol, parameters) {                                                                         \
        return record_exec(path, search, environment,                                                       \
                           [&](const char* program, char* const* use) { return NEXT(next)(__VA_ARGS__); }); \
    }
EXEC(execve, (const char* path, char* const argv[], char* const envp[]), Search::none, envp, execve, program, argv, use)
EXEC(execvpe, (const char* path, char* const argv[], char* const envp[]), Search::in_path, envp, execvpe, program, argv, use)
EXEC(execv, (const char* path, char* const argv[]), Search::none, environ, execve, program, argv, use)
EXEC(execvp, (const char* path, char* const argv[]), Search::in_path, environ, execvpe, program, argv, use)

// Forms with the arguments one by one: the arguments become an array for the other form. The environment may follow their end.
#define EXEC_LIST(symbol, next, search, environment)                                                               \
    HOOK(int, symbol, (const char* path, const char* first, ...)) {                                                \
        va_list more;                                                                                              \
        va_start(more, first);                                                                                     \
        size_t count = first == nullptr ? 0 : 1;                                                                   \
        while (count > 0 && va_arg(more, char*) != nullptr) ++count;                                               \
        va_end(more);                                                                                              \
        char* argv[count + 1];                                                                                     \
        argv[0] = const_cast<char*>(first);                                                                        \
        va_start(more, first);                                                                                     \
        for (size_t i = 1; i <= count; ++i) argv[i] = va_arg(more, char*);                                         \
        [[maybe_unused]] const auto envp = va_arg(more, char* const*);                                             \
        va_end(more);                                                                                              \
        return record_exec(path, search, environment,                                                              \
                           [&](const char* program, char* const* use) { return NEXT(next)(program, argv, use); }); \
    }
EXEC_LIST(execl, execve, Search::none, environ)
EXEC_LIST(execlp, execvpe, Search::in_path, environ)
EXEC_LIST(execle, execve, Search::none, envp)

HOOK(int, fexecve, (int descriptor, char* const argv[], char* const envp[])) {
    return record_exec(nullptr, Search::none, envp,
                       [&](const char*, char* const* use) { return NEXT(fexecve)(descriptor, argv, use); });
}

HOOK(int, execveat, (int directory, const char* path, char* const argv[], char* const envp[], int flags)) {
    return record_exec(path, Search::none, envp,
                       [&](const char*, char* const* use) { return NEXT(execveat)(directory, path, argv, use, flags); });
}

}  // namespace tailrace::preload
