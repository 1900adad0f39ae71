// Bytes and characters of streams: those that the program moves to and from the stream's buffer (and stream.hpp).
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <wchar.h>

#include "preload/stream.hpp"

namespace tailrace::preload {

// Items that were moved become bytes.
#define FREAD(symbol, parameters, arguments)                        \
    OF_STREAM(size_t, symbol, fread, parameters, arguments, stream, \
              took(static_cast<int64_t>(result * size), {.bytes = count * size}))
FREAD(fread, (void* to, size_t size, size_t count, FILE* stream), (to, size, count, stream))
FREAD(fread_unlocked, (void* to, size_t size, size_t count, FILE* stream), (to, size, count, stream))
FREAD(__fread_chk, (void* to, size_t room, size_t size, size_t count, FILE* stream), (to, room, size, count, stream))
FREAD(__fread_unlocked_chk, (void* to, size_t room, size_t size, size_t count, FILE* stream), (to, room, size, count, stream))

#define FWRITE(symbol)                                                                                                          \
    OF_STREAM(size_t, symbol, fwrite, (const void* from, size_t size, size_t count, FILE* stream), (from, size, count, stream), \
              stream, put(static_cast<int64_t>(result * size), {.bytes = count * size}))
FWRITE(fwrite)
FWRITE(fwrite_unlocked)

// As long as the line is without zeros.
#define FGETS(symbol, parameters, arguments)                       \
    OF_STREAM(char*, symbol, fgets, parameters, arguments, stream, \
              took(call.on() && result != nullptr ? static_cast<int64_t>(strlen(result)) : 0))
FGETS(fgets, (char* to, int size, FILE* stream), (to, size, stream))
FGETS(fgets_unlocked, (char* to, int size, FILE* stream), (to, size, stream))
FGETS(__fgets_chk, (char* to, size_t room, int size, FILE* stream), (to, room, size, stream))
FGETS(__fgets_unlocked_chk, (char* to, size_t room, int size, FILE* stream), (to, room, size, stream))

// The end of the line is read, and not handed over.
#define GETS(symbol, parameters, arguments)                       \
    OF_STREAM(char*, symbol, fgets, parameters, arguments, stdin, \
              took_some(call.on() && result != nullptr ? static_cast<int64_t>(strlen(result)) : 0))
GETS(gets, (char* to), (to))
GETS(__gets_chk, (char* to, size_t room), (to, room))

#define GETLINE(symbol, parameters, arguments) \
    OF_STREAM(ssize_t, symbol, fgets, parameters, arguments, stream, took(result < 0 ? 0 : int64_t{result}))
GETLINE(getline, (char** to, size_t* size, FILE* stream), (to, size, stream))
GETLINE(getdelim, (char** to, size_t* size, int end, FILE* stream), (to, size, end, stream))
GETLINE(__getdelim, (char** to, size_t* size, int end, FILE* stream), (to, size, end, stream))

#define GET(symbol, parameters, arguments, stream) \
    OF_STREAM(int, symbol, fgetc, parameters, arguments, stream, took(result != EOF, {.bytes = 1}))
GET(fgetc, (FILE * stream), (stream), stream)
GET(getc, (FILE * stream), (stream), stream)
GET(_IO_getc, (FILE * stream), (stream), stream)
GET(fgetc_unlocked, (FILE * stream), (stream), stream)
GET(getc_unlocked, (FILE * stream), (stream), stream)
GET(__uflow, (FILE * stream), (stream), stream)
GET(getchar, (void), (), stdin)
GET(getchar_unlocked, (void), (), stdin)

#define PUT(symbol, parameters, arguments, stream) \
    OF_STREAM(int, symbol, fputc, parameters, arguments, stream, put(result != EOF, {.bytes = 1}))
PUT(fputc, (int character, FILE* stream), (character, stream), stream)
PUT(putc, (int character, FILE* stream), (character, stream), stream)
PUT(_IO_putc, (int character, FILE* stream), (character, stream), stream)
PUT(fputc_unlocked, (int character, FILE* stream), (character, stream), stream)
PUT(putc_unlocked, (int character, FILE* stream), (character, stream), stream)
PUT(__overflow, (FILE * stream, int character), (stream, character), stream)
PUT(putchar, (int character), (character), stdout)
PUT(putchar_unlocked, (int character), (character), stdout)

#define WORD(answer, symbol, name, moved, parameters, arguments)   \
    OF_STREAM(answer, symbol, name, parameters, arguments, stream, \
              moved(ferror_unlocked(stream) ? 0 : sizeof(int), {.bytes = sizeof(int)}))
WORD(int, getw, fread, took, (FILE * stream), (stream))
WORD(int, putw, fwrite, put, (int word, FILE* stream), (word, stream))

#define FPUTS(symbol, parameters, arguments, stream, end)                  \
    OF_STREAM(int, symbol, fputs, parameters, arguments, stream,           \
              put(result < 0  ? -int64_t{errno}                            \
                  : call.on() ? static_cast<int64_t>(strlen(text)) + (end) \
                              : 0))
FPUTS(fputs, (const char* text, FILE* stream), (text, stream), stream, 0)
FPUTS(fputs_unlocked, (const char* text, FILE* stream), (text, stream), stream, 0)
FPUTS(puts, (const char* text), (text), stdout, 1)

// Wide characters: how many bytes they become is not known here.
#define WIDE(answer, symbol, name, parameters, arguments, stream) \
    OF_STREAM(answer, symbol, name, parameters, arguments, stream, note(0))
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
