// Streams of the C library. Its own reads and writes do not pass by here: bytes are those that the program moves to and from the
// stream's buffer. What closing finds as the descriptor's position says how far the kernel was asked for.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <wchar.h>

#include "preload/hook.hpp"

namespace tailrace::preload {
namespace {

FILE* opened_as(Traced& call, FILE* stream, const char* path) {
    if (!call.on()) return stream;
    const uint64_t file = path == nullptr || (stream == nullptr && errno == EFAULT) ? 0 : file_of(path);
    if (stream != nullptr) {
        call.set_descriptor(fileno_unlocked(stream));
        if (file != 0) opened(fileno_unlocked(stream), file);
    }
    return call.done(stream, {}, file);
}

int descriptor_of(FILE* stream) { return stream == nullptr ? -1 : fileno_unlocked(stream); }

}  // namespace

#define FOPEN(symbol)                                           \
    HOOK(FILE*, symbol, (const char* path, const char* mode)) { \
        Traced call(Call::fopen);                               \
        return opened_as(call, NEXT(symbol)(path, mode), path); \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define FREOPEN(symbol)                                                             \
    HOOK(FILE*, symbol, (const char* path, const char* mode, FILE* stream)) {       \
        Traced call(Call::fopen);                                                   \
        if (call.on() && descriptor_of(stream) >= 0) closed(descriptor_of(stream)); \
        return opened_as(call, NEXT(symbol)(path, mode, stream), path);             \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

#define TMPFILE(symbol)                                  \
    HOOK(FILE*, symbol, (void)) {                        \
        Traced call(Call::fopen);                        \
        return opened_as(call, NEXT(symbol)(), nullptr); \
    }
TMPFILE(tmpfile)
TMPFILE(tmpfile64)

HOOK(FILE*, fdopen, (int descriptor, const char* mode)) {
    Traced call(Call::fopen, descriptor);
    return call.done(NEXT(fdopen)(descriptor, mode));
}

HOOK(int, fclose, (FILE * stream)) {
    const int descriptor = descriptor_of(stream);
    Traced call(Call::fclose, descriptor);
    const uint64_t file = call.on() && descriptor >= 0 ? file_of(descriptor) : 0;
    if (call.on() && descriptor >= 0) closed(descriptor);
    return call.done(NEXT(fclose)(stream), {}, file);
}

HOOK(int, fcloseall, (void)) {
    Traced call(Call::fclose);
    return call.done(NEXT(fcloseall)());
}

#define FFLUSH(symbol)                                    \
    HOOK(int, symbol, (FILE * stream)) {                  \
        Traced call(Call::fflush, descriptor_of(stream)); \
        return call.done(NEXT(symbol)(stream));           \
    }
FFLUSH(fflush)
FFLUSH(fflush_unlocked)

// Items that were moved become bytes.
#define FREAD(symbol, parameters, arguments)                                    \
    HOOK(size_t, symbol, parameters) {                                          \
        Traced call(Call::fread, descriptor_of(stream));                        \
        const size_t items = NEXT(symbol) arguments;                            \
        call.note(static_cast<int64_t>(items * size), {.bytes = count * size}); \
        return items;                                                           \
    }
FREAD(fread, (void* to, size_t size, size_t count, FILE* stream), (to, size, count, stream))
FREAD(fread_unlocked, (void* to, size_t size, size_t count, FILE* stream), (to, size, count, stream))
FREAD(__fread_chk, (void* to, size_t room, size_t size, size_t count, FILE* stream), (to, room, size, count, stream))
FREAD(__fread_unlocked_chk, (void* to, size_t room, size_t size, size_t count, FILE* stream), (to, room, size, count, stream))

#define FWRITE(symbol)                                                                  \
    HOOK(size_t, symbol, (const void* from, size_t size, size_t count, FILE* stream)) { \
        Traced call(Call::fwrite, descriptor_of(stream));                               \
        const size_t items = NEXT(symbol)(from, size, count, stream);                   \
        call.note(static_cast<int64_t>(items * size), {.bytes = count * size});         \
        return items;                                                                   \
    }
FWRITE(fwrite)
FWRITE(fwrite_unlocked)

#define FGETS(symbol, parameters, arguments)                                                    \
    HOOK(char*, symbol, parameters) {                                                           \
        Traced call(Call::fgets, descriptor_of(stream));                                        \
        char* result = NEXT(symbol) arguments;                                                  \
        if (call.on()) call.note(static_cast<int64_t>(result == nullptr ? 0 : strlen(result))); \
        return result;                                                                          \
    }
FGETS(fgets, (char* to, int size, FILE* stream), (to, size, stream))
FGETS(fgets_unlocked, (char* to, int size, FILE* stream), (to, size, stream))
FGETS(__fgets_chk, (char* to, size_t room, int size, FILE* stream), (to, room, size, stream))
FGETS(__fgets_unlocked_chk, (char* to, size_t room, int size, FILE* stream), (to, room, size, stream))

#define GETLINE(symbol, parameters, arguments)                \
    HOOK(ssize_t, symbol, parameters) {                       \
        Traced call(Call::fgets, descriptor_of(stream));      \
        const ssize_t result = NEXT(symbol) arguments;        \
        call.note(result < 0 ? int64_t{0} : int64_t{result}); \
        return result;                                        \
    }
GETLINE(getline, (char** to, size_t* size, FILE* stream), (to, size, stream))
GETLINE(getdelim, (char** to, size_t* size, int end, FILE* stream), (to, size, end, stream))
GETLINE(__getdelim, (char** to, size_t* size, int end, FILE* stream), (to, size, end, stream))

#define FGETC(symbol)                                    \
    HOOK(int, symbol, (FILE * stream)) {                 \
        Traced call(Call::fgetc, descriptor_of(stream)); \
        const int result = NEXT(symbol)(stream);         \
        call.note(int64_t{result != EOF}, {.bytes = 1}); \
        return result;                                   \
    }
FGETC(fgetc)
FGETC(getc)
FGETC(_IO_getc)
FGETC(fgetc_unlocked)
FGETC(getc_unlocked)
FGETC(__uflow)
#define GETCHAR(symbol)                                  \
    HOOK(int, symbol, (void)) {                          \
        Traced call(Call::fgetc, descriptor_of(stdin));  \
        const int result = NEXT(symbol)();               \
        call.note(int64_t{result != EOF}, {.bytes = 1}); \
        return result;                                   \
    }
GETCHAR(getchar)
GETCHAR(getchar_unlocked)

#define FPUTC(symbol)                                       \
    HOOK(int, symbol, (int character, FILE* stream)) {      \
        Traced call(Call::fputc, descriptor_of(stream));    \
        const int result = NEXT(symbol)(character, stream); \
        call.note(int64_t{result != EOF}, {.bytes = 1});    \
        return result;                                      \
    }
FPUTC(fputc)
FPUTC(putc)
FPUTC(_IO_putc)
FPUTC(fputc_unlocked)
FPUTC(putc_unlocked)

HOOK(int, __overflow, (FILE * stream, int character)) {
    Traced call(Call::fputc, descriptor_of(stream));
    const int result = NEXT(__overflow)(stream, character);
    call.note(int64_t{result != EOF}, {.bytes = 1});
    return result;
}

#define PUTCHAR(symbol)                                  \
    HOOK(int, symbol, (int character)) {                 \
        Traced call(Call::fputc, descriptor_of(stdout)); \
        const int result = NEXT(symbol)(character);      \
        call.note(int64_t{result != EOF}, {.bytes = 1}); \
        return result;                                   \
    }
PUTCHAR(putchar)
PUTCHAR(putchar_unlocked)

// Wide characters: how many bytes they become is not known here.
#define GET_WIDE(symbol)                                 \
    HOOK(wint_t, symbol, (FILE * stream)) {              \
        Traced call(Call::fgetc, descriptor_of(stream)); \
        const wint_t result = NEXT(symbol)(stream);      \
        call.note(0);                                    \
        return result;                                   \
    }
GET_WIDE(fgetwc)
GET_WIDE(getwc)
#define PUT_WIDE(symbol)                                       \
    HOOK(wint_t, symbol, (wchar_t character, FILE * stream)) { \
        Traced call(Call::fputc, descriptor_of(stream));       \
        const wint_t result = NEXT(symbol)(character, stream); \
        call.note(0);                                          \
        return result;                                         \
    }
PUT_WIDE(fputwc)
PUT_WIDE(putwc)

HOOK(int, fputws, (const wchar_t* text, FILE* stream)) {
    Traced call(Call::fputs, descriptor_of(stream));
    const int result = NEXT(fputws)(text, stream);
    call.note(0);
    return result;
}

#define FPUTS(symbol)                                                                                \
    HOOK(int, symbol, (const char* text, FILE* stream)) {                                            \
        Traced call(Call::fputs, descriptor_of(stream));                                             \
        const int result = NEXT(symbol)(text, stream);                                               \
        if (call.on()) call.note(result < 0 ? int64_t{result} : static_cast<int64_t>(strlen(text))); \
        return result;                                                                               \
    }
FPUTS(fputs)
FPUTS(fputs_unlocked)

HOOK(int, puts, (const char* text)) {
    Traced call(Call::fputs, descriptor_of(stdout));
    const int result = NEXT(puts)(text);
    if (call.on()) call.note(result < 0 ? int64_t{result} : static_cast<int64_t>(strlen(text) + 1));
    return result;
}

// Formatted output goes by the function that takes a list.
#define PRINT(symbol, parameters, last, list_symbol, before, after) \
    HOOK(int, symbol, parameters) {                                 \
        va_list more;                                               \
        va_start(more, last);                                       \
        Traced call(Call::fprintf, descriptor_of(before));          \
        const int result = NEXT(list_symbol) after;                 \
        va_end(more);                                               \
        return call.done(result);                                   \
    }
#define VPRINT(symbol, parameters, stream, arguments)      \
    HOOK(int, symbol, parameters) {                        \
        Traced call(Call::fprintf, descriptor_of(stream)); \
        return call.done(NEXT(symbol) arguments);          \
    }
VPRINT(vfprintf, (FILE * to, const char* format, va_list more), to, (to, format, more))
VPRINT(vprintf, (const char* format, va_list more), stdout, (format, more))
VPRINT(__vfprintf_chk, (FILE * to, int flag, const char* format, va_list more), to, (to, flag, format, more))
VPRINT(__vprintf_chk, (int flag, const char* format, va_list more), stdout, (flag, format, more))
PRINT(fprintf, (FILE * to, const char* format, ...), format, vfprintf, to, (to, format, more))
PRINT(printf, (const char* format, ...), format, vprintf, stdout, (format, more))
PRINT(__fprintf_chk, (FILE * to, int flag, const char* format, ...), format, __vfprintf_chk, to, (to, flag, format, more))
PRINT(__printf_chk, (int flag, const char* format, ...), format, __vprintf_chk, stdout, (flag, format, more))

// Without a buffer: what is printed is written.
#define DPRINT(symbol, list_symbol, parameters, arguments) \
    HOOK(int, symbol, parameters) {                        \
        va_list more;                                      \
        va_start(more, format);                            \
        Traced call(Call::write, descriptor);              \
        const int result = NEXT(list_symbol) arguments;    \
        va_end(more);                                      \
        return call.done(result);                          \
    }
#define VDPRINT(symbol, parameters, arguments)    \
    HOOK(int, symbol, parameters) {               \
        Traced call(Call::write, descriptor);     \
        return call.done(NEXT(symbol) arguments); \
    }
VDPRINT(vdprintf, (int descriptor, const char* format, va_list more), (descriptor, format, more))
VDPRINT(__vdprintf_chk, (int descriptor, int flag, const char* format, va_list more), (descriptor, flag, format, more))
DPRINT(dprintf, vdprintf, (int descriptor, const char* format, ...), (descriptor, format, more))
DPRINT(__dprintf_chk, __vdprintf_chk, (int descriptor, int flag, const char* format, ...), (descriptor, flag, format, more))

#define VSCAN(symbol, parameters, stream, arguments)                      \
    HOOK(int, symbol, parameters) {                                       \
        Traced call(Call::fscanf, descriptor_of(stream));                 \
        const int result = NEXT(symbol) arguments;                        \
        call.note(int64_t{0}, {.detail = static_cast<uint64_t>(result)}); \
        return result;                                                    \
    }
#define SCAN(symbol, parameters, last, list_symbol, stream, arguments)    \
    HOOK(int, symbol, parameters) {                                       \
        va_list more;                                                     \
        va_start(more, last);                                             \
        Traced call(Call::fscanf, descriptor_of(stream));                 \
        const int result = NEXT(list_symbol) arguments;                   \
        va_end(more);                                                     \
        call.note(int64_t{0}, {.detail = static_cast<uint64_t>(result)}); \
        return result;                                                    \
    }
VSCAN(vfscanf, (FILE * from, const char* format, va_list more), from, (from, format, more))
VSCAN(__isoc99_vfscanf, (FILE * from, const char* format, va_list more), from, (from, format, more))
VSCAN(vscanf, (const char* format, va_list more), stdin, (format, more))
VSCAN(__isoc99_vscanf, (const char* format, va_list more), stdin, (format, more))
SCAN(scanf, (const char* format, ...), format, vscanf, stdin, (format, more))
SCAN(__isoc99_scanf, (const char* format, ...), format, __isoc99_vscanf, stdin, (format, more))
SCAN(fscanf, (FILE * from, const char* format, ...), format, vfscanf, from, (from, format, more))
SCAN(__isoc99_fscanf, (FILE * from, const char* format, ...), format, __isoc99_vfscanf, from, (from, format, more))

#define FSEEK(symbol, offset_type)                                                                                           \
    HOOK(int, symbol, (FILE * stream, offset_type offset, int whence)) {                                                     \
        Traced call(Call::fseek, descriptor_of(stream));                                                                     \
        return call.done(NEXT(symbol)(stream, offset, whence), {.offset = offset, .detail = static_cast<uint64_t>(whence)}); \
    }
FSEEK(fseek, long)
FSEEK(fseeko, off_t)
FSEEK(fseeko64, off_t)

HOOK(void, rewind, (FILE * stream)) {
    Traced call(Call::fseek, descriptor_of(stream));
    NEXT(rewind)(stream);
    call.note(0, {.offset = 0});
}

#define FSETPOS(symbol, position_type)                                  \
    HOOK(int, symbol, (FILE * stream, const position_type* position)) { \
        Traced call(Call::fseek, descriptor_of(stream));                \
        return call.done(NEXT(symbol)(stream, position));               \
    }
FSETPOS(fsetpos, fpos_t)
FSETPOS(fsetpos64, fpos64_t)

}  // namespace tailrace::preload
