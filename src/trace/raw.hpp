// System calls that no library sees: within a hook, a call of the C library could come back into a hook.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace tailrace::trace::raw {

// What the kernel answers: -errno where it failed; errno itself is left alone.
inline int64_t call(int64_t number, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0, int64_t e = 0, int64_t f = 0) {
    int64_t answer;
    register int64_t r10 asm("r10") = d;
    register int64_t r8 asm("r8") = e;
    register int64_t r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(answer)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return answer;
}

inline int64_t address(const void* pointer) { return reinterpret_cast<int64_t>(pointer); }

// A whole small file, as those of /proc are; its bytes, or -errno.
inline int64_t read_file(const char* path, char* to, uint64_t bytes) {
    constexpr int64_t kAtWorkingDirectory = -100, kReadOnlyCloseOnExec = 02000000;
    const int64_t descriptor = call(SYS_openat, kAtWorkingDirectory, address(path), kReadOnlyCloseOnExec);
    if (descriptor < 0) return descriptor;
    uint64_t done = 0;
    for (int64_t now = 1; now > 0 && done < bytes; done += now > 0 ? static_cast<uint64_t>(now) : 0)
        now = call(SYS_read, descriptor, address(to + done), static_cast<int64_t>(bytes - done));
    call(SYS_close, descriptor);
    return static_cast<int64_t>(done);
}

// Decimal digits of a number, and a zero; how many digits. Room for 21 bytes.
inline uint64_t put_number(char* to, uint64_t number) {
    char digits[20];
    uint64_t count = 0, length = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0) to[length++] = digits[--count];
    to[length] = '\0';
    return length;
}

// A text and a zero, as far as there is room; its bytes.
inline uint64_t put_text(char* to, const char* from, uint64_t room) {
    uint64_t length = 0;
    while (length + 1 < room && from[length] != '\0') to[length] = from[length], ++length;
    to[length] = '\0';
    return length;
}

}  // namespace tailrace::trace::raw
