// Bytes and characters that the program moves to and from a stream's buffer (see stream.hpp).
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <wchar.h>

#include "preload/stream.hpp"

namespace tailrace::preload {

// fread: the result is a number of items; bytes are recorded.
#define FREAD(symbol, parameters, arguments)                            \
    TRACED_STREAM(size_t, symbol, fread, parameters, arguments, stream, \
                  finish_read(static_cast<int64_t>(result * size), {.bytes = count * size}))
FREAD(fread, (void* to, size_t size, size_t count, FILE* stream), (to, size, count, stream))
FREAD(fread_unlocked, (void* to, size_t size, size_t count, FILE* stream), (to, size, count, stream))
FREAD(__fread_chk, (void* to, size_t room, size_t size, size_t count, FILE* stream), (to, room, size, count, stream))
FREAD(__fread_unlocked_chk, (void* to, size_t room, size_t size, size_t count, FILE* stream), (to, room, size, count, stream))

#define FWRITE(symbol)                                                                                 \
    TRACED_STREAM(size_t, symbol, fwrite, (const void* from, size_t size, size_t count, FILE* stream), \
                  (from, size, count, stream), stream, finish_write(static_cast<int64_t>(result * size), {.bytes = count * size}))
FWRITE(fwrite)
FWRITE(fwrite_unlocked)

// fgets: records the length of the line, which is wrong for a line that contains zero bytes.
#define FGETS(symbol, parameters, arguments)                           \
    TRACED_STREAM(char*, symbol, fgets, parameters, arguments, stream, \
                  finish_read(call.is_recording() && result != nullptr ? static_cast<int64_t>(strlen(result)) : 0))
FGETS(fgets, (char* to, int size, FILE* stream), (to, size, stream))
FGETS(fgets_unlocked, (char* to, int size, FILE* stream), (to, size, stream))
FGETS(__fgets_chk, (char* to, size_t room, int size, FILE* stream), (to, room, size, stream))
FGETS(__fgets_unlocked_chk, (char* to, size_t room, int size, FILE* stream), (to, room, size, stream))

// gets: the newline is read but not returned.
#define GETS(symbol, parameters, arguments)                           \
    TRACED_STREAM(char*, symbol, fgets, parameters, arguments, stdin, \
                  finish_unknown_read(call.is_recording() && result != nullptr ? static_cast<int64_t>(strlen(result)) : 0))
GETS(gets, (char* to), (to))
GETS(__gets_chk, (char* to, size_t room), (to, room))

#define GETLINE(symbol, parameters, arguments) \
    TRACED_STREAM(ssize_t, symbol, fgets, parameters, arguments, stream, finish_read(result < 0 ? 0 : int64_t{result}))
GETLINE(getline, (char** to, size_t* size, FILE* stream), (to, size, stream))
GETLINE(getdelim, (char** to, size_t* size, int end, FILE* stream), (to, size, end, stream))
GETLINE(__getdelim, (char** to, size_t* size, int end, FILE* stream), (to, size, end, stream))

#define GET(symbol, parameters, arguments, stream) \
    TRACED_STREAM(int, symbol, fgetc, parameters, arguments, stream, finish_read(result != EOF, {.bytes = 1}))
GET(fgetc, (FILE * stream), (stream), stream)
GET(getc, (FILE * stream), (stream), stream)
GET(_IO_getc, (FILE * stream), (stream), stream)
GET(fgetc_unlocked, (FILE * stream), (stream), stream)
GET(getc_unlocked, (FILE * stream), (stream), stream)
GET(__uflow, (FILE * stream), (stream), stream)
GET(getchar, (void), (), stdin)
GET(getchar_unlocked, (void), (), stdin)

#define PUT(symbol, parameters, arguments, stream) \
    TRACED_STREAM(int, symbol, fputc, parameters, arguments, stream, finish_write(result != EOF, {.bytes = 1}))
PUT(fputc, (int character, FILE* stream), (character, stream), stream)
PUT(putc, (int character, FILE* stream), (character, stream), stream)
PUT(_IO_putc, (int character, FILE* stream), (character, stream), stream)
PUT(fputc_unlocked, (int character, FILE* stream), (character, stream), stream)
PUT(putc_unlocked, (int character, FILE* stream), (character, stream), stream)
PUT(__overflow, (FILE * stream, int character), (stream, character), stream)
PUT(putchar, (int character), (character), stdout)
PUT(putchar_unlocked, (int character), (character), stdout)

#define WORD(Result, symbol, name, finish, parameters, arguments)      \
    TRACED_STREAM(Result, symbol, name, parameters, arguments, stream, \
                  finish(ferror_unlocked(stream) ? 0 : sizeof(int), {.bytes = sizeof(int)}))
WORD(int, getw, fread, finish_read, (FILE * stream), (stream))
WORD(int, putw, fwrite, finish_write, (int word, FILE* stream), (word, stream))

#define FPUTS(symbol, parameters, arguments, stream, end)                                         \
    TRACED_STREAM(int, symbol, fputs, parameters, arguments, stream,                              \
                  finish_write(result < 0            ? -int64_t{errno}                            \
                               : call.is_recording() ? static_cast<int64_t>(strlen(text)) + (end) \
                                                     : 0))
FPUTS(fputs, (const char* text, FILE* stream), (text, stream), stream, 0)
FPUTS(fputs_unlocked, (const char* text, FILE* stream), (text, stream), stream, 0)
FPUTS(puts, (const char* text), (text), stdout, 1)

// Wide characters: the number of their bytes in the file is not known here.
#define WIDE(Result, symbol, name, parameters, arguments, stream) \
    TRACED_STREAM(Result, symbol, name, parameters, arguments, stream, record(0))
WIDE(wint_t, fgetwc, fgetc, (FILE * stream), (stream), stream)
WIDE(wint_t, fgetwc_unlocked, fgetc, (FILE * stream), (stream), stream)
WIDE(wint_t, getwc, fgetc, (FILE * stream), (stream), stream)
WIDE(wint_t, getwc_unlocked, fgetc, (FILE * stream), (stream), stream)
WIDE(wint_t, getwchar, fgetc, (void), (), stdin)
WIDE(wint_t, getwchar_unlocked, fgetc, (void), (), stdin)
WIDE(wchar_t*, fgetws, fgets, (wchar_t * to, int size, FILE* stream), (to, size, stream), stream)
WIDE(wchar_t*, fgetws_unlocked, fgets, (wchar_t * to, int size, FILE* stream), (to, size, stream), stream)
WIDE(wchar_t*, __fgetws_chk, fgets, (wchar_t * to, size_t room, int size, FILE* stream), (to, room, size, stream), stream)
WIDE(wchar_t*, __fgetws_unlocked_chk, fgets, (wchar_t * to, size_t room, int size, FILE* stream), (to, room, size, stream), stream)
WIDE(wint_t, fputwc, fputc, (wchar_t character, FILE* stream), (character, stream), stream)
WIDE(wint_t, fputwc_unlocked, fputc, (wchar_t character, FILE* stream), (character, stream), stream)
WIDE(wint_t, putwc, fputc, (wchar_t character, FILE* stream), (character, stream), stream)
WIDE(wint_t, putwc_unlocked, fputc, (wchar_t character, FILE* stream), (character, stream), stream)
WIDE(wint_t, putwchar, fputc, (wchar_t character), (character), stdout)
WIDE(wint_t, putwchar_unlocked, fputc, (wchar_t character), (character), stdout)
WIDE(int, fputws, fputs, (const wchar_t* text, FILE* stream), (text, stream), stream)
WIDE(int, fputws_unlocked, fputs, (const wchar_t* text, FILE* stream), (text, stream), stream)

}  // namespace tailrace::preload
