// Processes: children of vfork are let alone, the log ends with the process.
#include <stdlib.h>
#include <unistd.h>

#include "preload/hook.hpp"

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

// What a process does after its destructors is recorded all the same; only the kernel's counts are those of this moment.
[[gnu::destructor(101)]] static void end() { trace::end_log(); }

// Begun at the first moment, so that a program without a call has a log, too.
[[gnu::constructor(101)]] static void begin() { trace::is_on(); }

#define EXIT_NOW(symbol)                        \
    HOOK(void, symbol, (int status)) {          \
        if (!tailrace_silent) trace::end_log(); \
        NEXT(symbol)(status);                   \
        __builtin_unreachable();                \
    }
EXIT_NOW(_exit)
EXIT_NOW(_Exit)

// The log says that the program was replaced, by which file.
#define EXEC(symbol, parameters, arguments)       \
    HOOK(int, symbol, parameters) {               \
        if (!tailrace_silent && trace::is_on()) { \
            Traced call(Call::exec);              \
            call.note(0, {}, file_of(path));      \
            trace::end_log();                     \
        }                                         \
        return NEXT(symbol) arguments;            \
    }
EXEC(execve, (const char* path, char* const words[], char* const variables[]), (path, words, variables))
EXEC(execv, (const char* path, char* const words[]), (path, words))
EXEC(execvp, (const char* path, char* const words[]), (path, words))
EXEC(execvpe, (const char* path, char* const words[], char* const variables[]), (path, words, variables))

}  // namespace tailrace::preload
