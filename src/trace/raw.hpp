// System calls without the C library, because a C library function that a hook calls could enter another hook.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstdint>

namespace tailrace::trace::raw {

// Makes a system call. Returns its result, or -errno if it failed. Does not change errno.
inline int64_t call(int64_t number, int64_t a = 0, int64_t b = 0, int64_t c = 0, int64_t d = 0, int64_t e = 0, int64_t f = 0) {
    int64_t result;
    register int64_t r10 asm("r10") = d;
    register int64_t r8 asm("r8") = e;
    register int64_t r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

// Whether the result of a call is an error, -errno. For mmap and the like: their addresses may be negative numbers.
inline bool is_error(int64_t result) {
    constexpr int64_t kLargestErrno = 4095;
    return result < 0 && result >= -kLargestErrno;
}

inline int64_t address(const void* pointer) { return reinterpret_cast<int64_t>(pointer); }

// Opens a file for reading. The flags contain the kernel's O_LARGEFILE, which the C library never sets on this machine and which
// has no effect. Tests use it to distinguish these openings from those of the program.
inline int64_t open_to_read(const char* path) {
    constexpr int kLargeFile = 0100000;
    return call(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC | kLargeFile);
}

// Reads a small file, such as one of /proc. Returns how many bytes it has read, or -errno.
inline int64_t read_file(const char* path, char* to, uint64_t bytes) {
    const int64_t descriptor = open_to_read(path);
    if (descriptor < 0) return descriptor;
    uint64_t done = 0;
    for (int64_t now = 1; now > 0 && done < bytes; done += now > 0 ? static_cast<uint64_t>(now) : 0)
        now = call(SYS_read, descriptor, address(to + done), static_cast<int64_t>(bytes - done));
    call(SYS_close, descriptor);
    return static_cast<int64_t>(done);
}

// Writes the decimal digits of a number and a zero byte; needs 21 bytes. Returns the number of digits.
inline uint64_t put_number(char* to, uint64_t number) {
    char digits[20];
    uint64_t count = 0, length = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0) to[length++] = digits[--count];
    to[length] = '\0';
    return length;
}

// Whether the pointer may be one of a text. The kernel reports the error of a call with another one.
inline bool is_pointer(const char* text) {
    constexpr uint64_t kFirstPage = 4096;
    return reinterpret_cast<uint64_t>(text) >= kFirstPage;
}

// Copies a text and a zero byte, cut to `room` bytes. Returns the length of the copy, without the zero byte.
inline uint64_t put_text(char* to, const char* from, uint64_t room) {
    uint64_t length = 0;
    while (length + 1 < room && from[length] != '\0') to[length] = from[length], ++length;
    to[length] = '\0';
    return length;
}

}  // namespace tailrace::trace::raw
