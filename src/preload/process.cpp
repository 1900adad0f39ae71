// Processes: children of vfork are let alone, the log ends with the process.
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/stream.hpp"

namespace tailrace::preload {
extern "C" {
thread_local constinit char tailrace_silent = 0;
}
}  // namespace tailrace::preload

// RATIONALE: vfork returns twice through one stack frame, so it cannot be called by a function that returns in between: the return
// address is kept in a register, as the C library does. The child, which has the parent's memory, marks itself; the parent takes
// the mark away when it goes on.
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
    movb $1, %fs:(%rdx)
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

// Of each object the loader reads this much at once; where the table of segments lies further back, that table as well, twice: when
// it looks for the object, and when it maps it. The rest is mapped.
static constexpr uint64_t kObjectBytes = 832;

static trace::LoaderCounts loader_counts() {
    struct Loaded {
        uint64_t ever;  // also those that are not there any more
        trace::LoaderCounts of_tables;
    } loaded = {};
    dl_iterate_phdr(
        [](dl_phdr_info* about, size_t, void* to) {
            auto& all = *static_cast<Loaded*>(to);
            const uint64_t bytes = about->dlpi_phnum * sizeof(ElfW(Phdr));
            const bool apart = reinterpret_cast<uint64_t>(about->dlpi_phdr) - about->dlpi_addr + bytes > kObjectBytes;
            all.of_tables.read_bytes += apart ? 2 * bytes : 0;
            all.of_tables.read_calls += apart ? 2 : 0;
            all.ever = about->dlpi_adds;
            return 0;
        },
        &loaded);
    return {loaded.ever * kObjectBytes + loaded.of_tables.read_bytes, loaded.ever + loaded.of_tables.read_calls};
}

// What a process does after its destructors is recorded all the same; only the kernel's counts are those of this moment. The C
// library writes what is left in its streams after the destructors.
[[gnu::destructor(101)]] static void end() {
    if (!trace::is_on()) return;
    trace::set_loader_at_end(loader_counts());
    trace::end_log();
    record_unwritten_of_all();
    streams_end = true;
}

// Begun at the first moment, so that a program without a call has a log, too.
[[gnu::constructor(101)]] static void begin() {
    if (trace::is_on()) trace::set_loader_at_begin(loader_counts());
}

#define EXIT_NOW(symbol)                        \
    HOOK(void, symbol, (int status)) {          \
        if (!tailrace_silent) trace::end_log(); \
        NEXT(symbol)(status);                   \
        __builtin_unreachable();                \
    }
EXIT_NOW(_exit)
EXIT_NOW(_Exit)

// The child begins a log of its own with its first call.
#define FORK(symbol)                        \
    HOOK(pid_t, symbol, (void)) {           \
        Traced call(Call::fork);            \
        const pid_t child = NEXT(symbol)(); \
        if (child != 0) call.done(child);   \
        return child;                       \
    }
FORK(fork)
FORK(__fork)

// Programs that run beside this one; the answer is an errno, recorded is the process.
#define SPAWN(symbol)                                                                                                        \
    HOOK(int, symbol,                                                                                                        \
         (pid_t * process, const char* path, const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, \
          char* const words[], char* const variables[])) {                                                                   \
        Traced call(Call::spawn);                                                                                            \
        pid_t child = 0;                                                                                                     \
        const int code = NEXT(symbol)(&child, path, actions, attributes, words, variables);                                  \
        if (process != nullptr && code == 0) *process = child;                                                               \
        call.note(code != 0 ? -int64_t{code} : int64_t{child}, {}, named(call, path, kHere, false));                         \
        return code;                                                                                                         \
    }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

HOOK(int, system, (const char* words)) {
    Traced call(Call::spawn);
    return call.done(NEXT(system)(words));
}

// The log says that the program was replaced, by which file; and a second time where it was not.
template <class Replace>
int replaced(const char* path, Replace replace) {
    if (tailrace_silent || !trace::is_on()) return replace();
    Traced call(Call::exec);
    call.note(0, {}, file_of(path));
    trace::end_log();
    const int answer = replace();
    return call.done(answer, {}, named(call, path, kHere, answer < 0));
}
#define EXEC(symbol, parameters, arguments)                            \
    HOOK(int, symbol, parameters) {                                    \
        return replaced(path, [&] { return NEXT(symbol) arguments; }); \
    }
EXEC(execve, (const char* path, char* const words[], char* const variables[]), (path, words, variables))
EXEC(execv, (const char* path, char* const words[]), (path, words))
EXEC(execvp, (const char* path, char* const words[]), (path, words))
EXEC(execvpe, (const char* path, char* const words[], char* const variables[]), (path, words, variables))

// Words in a row become a list, by which the other form goes; behind their end may be the variables.
#define EXEC_ROW(symbol, list_symbol, ...)                                                                \
    HOOK(int, symbol, (const char* path, const char* first, ...)) {                                       \
        va_list more;                                                                                     \
        va_start(more, first);                                                                            \
        size_t count = first == nullptr ? 0 : 1;                                                          \
        while (count > 0 && va_arg(more, char*) != nullptr) ++count;                                      \
        va_end(more);                                                                                     \
        char* words[count + 1];                                                                           \
        words[0] = const_cast<char*>(first);                                                              \
        va_start(more, first);                                                                            \
        for (size_t i = 1; i <= count; ++i) words[i] = va_arg(more, char*);                               \
        [[maybe_unused]] const auto variables = va_arg(more, char* const*);                               \
        va_end(more);                                                                                     \
        return replaced(path, [&] { return NEXT(list_symbol)(path, words __VA_OPT__(, ) __VA_ARGS__); }); \
    }
EXEC_ROW(execl, execv)
EXEC_ROW(execlp, execvp)
EXEC_ROW(execle, execve, variables)

HOOK(int, fexecve, (int descriptor, char* const words[], char* const variables[])) {
    return replaced(nullptr, [&] { return NEXT(fexecve)(descriptor, words, variables); });
}

HOOK(int, execveat, (int directory, const char* path, char* const words[], char* const variables[], int flags)) {
    return replaced(path, [&] { return NEXT(execveat)(directory, path, words, variables, flags); });
}

}  // namespace tailrace::preload
