// Formatted input and output. Both forms of a function call the form that takes a va_list.
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "preload/stream.hpp"

namespace tailrace::preload {

#define FORMATTED(symbol, list_symbol, parameters, arguments, traced, ...) \
    HOOK(int, list_symbol, (UNPACKED parameters, va_list more)) {          \
        traced;                                                            \
        const int result = NEXT(list_symbol) arguments;                    \
        call.__VA_ARGS__;                                                  \
        return result;                                                     \
    }                                                                      \
    HOOK(int, symbol, (UNPACKED parameters, ...)) {                        \
        va_list more;                                                      \
        va_start(more, format);                                            \
        traced;                                                            \
        const int result = NEXT(list_symbol) arguments;                    \
        va_end(more);                                                      \
        call.__VA_ARGS__;                                                  \
        return result;                                                     \
    }

#define PRINT(symbol, list_symbol, parameters, arguments, stream)                                   \
    FORMATTED(symbol, list_symbol, parameters, arguments, TracedStream call(Call::fprintf, stream), \
              finish_write(result < 0 ? -int64_t{errno} : int64_t{result}))
PRINT(fprintf, vfprintf, (FILE * to, const char* format), (to, format, more), to)
PRINT(printf, vprintf, (const char* format), (format, more), stdout)
PRINT(__fprintf_chk, __vfprintf_chk, (FILE * to, int flag, const char* format), (to, flag, format, more), to)
PRINT(__printf_chk, __vprintf_chk, (int flag, const char* format), (flag, format, more), stdout)

// Printing to a descriptor (dprintf), which makes one or more writes. Detail 1 distinguishes the event from a plain write.
#define PRINT_UNBUFFERED(symbol, list_symbol, parameters, arguments) \
    FORMATTED(symbol, list_symbol, parameters, arguments, Traced call(Call::write, descriptor), finish(result, {.detail = 1}))
PRINT_UNBUFFERED(dprintf, vdprintf, (int descriptor, const char* format), (descriptor, format, more))
PRINT_UNBUFFERED(__dprintf_chk, __vdprintf_chk, (int descriptor, int flag, const char* format), (descriptor, flag, format, more))

// scanf and the like: their result, the number of items, is recorded as the detail.
#define SCAN(symbol, list_symbol, parameters, arguments, stream)                                   \
    FORMATTED(symbol, list_symbol, parameters, arguments, TracedStream call(Call::fscanf, stream), \
              finish_unknown_read(0, {.detail = static_cast<uint64_t>(result)}))
SCAN(fscanf, vfscanf, (FILE * from, const char* format), (from, format, more), from)
SCAN(__isoc99_fscanf, __isoc99_vfscanf, (FILE * from, const char* format), (from, format, more), from)
SCAN(__isoc23_fscanf, __isoc23_vfscanf, (FILE * from, const char* format), (from, format, more), from)
SCAN(scanf, vscanf, (const char* format), (format, more), stdin)
SCAN(__isoc99_scanf, __isoc99_vscanf, (const char* format), (format, more), stdin)
SCAN(__isoc23_scanf, __isoc23_vscanf, (const char* format), (format, more), stdin)

// Wide characters: the number of their bytes in the file is not known here.
#define WIDE(symbol, list_symbol, name, parameters, arguments, stream) \
    FORMATTED(symbol, list_symbol, parameters, arguments, TracedStream call(Call::name, stream), record(0))
WIDE(fwprintf, vfwprintf, fprintf, (FILE * to, const wchar_t* format), (to, format, more), to)
WIDE(wprintf, vwprintf, fprintf, (const wchar_t* format), (format, more), stdout)
WIDE(__fwprintf_chk, __vfwprintf_chk, fprintf, (FILE * to, int flag, const wchar_t* format), (to, flag, format, more), to)
WIDE(__wprintf_chk, __vwprintf_chk, fprintf, (int flag, const wchar_t* format), (flag, format, more), stdout)
WIDE(fwscanf, vfwscanf, fscanf, (FILE * from, const wchar_t* format), (from, format, more), from)
WIDE(__isoc99_fwscanf, __isoc99_vfwscanf, fscanf, (FILE * from, const wchar_t* format), (from, format, more), from)
WIDE(__isoc23_fwscanf, __isoc23_vfwscanf, fscanf, (FILE * from, const wchar_t* format), (from, format, more), from)
WIDE(wscanf, vwscanf, fscanf, (const wchar_t* format), (format, more), stdin)
WIDE(__isoc99_wscanf, __isoc99_vwscanf, fscanf, (const wchar_t* format), (format, more), stdin)
WIDE(__isoc23_wscanf, __isoc23_vwscanf, fscanf, (const wchar_t* format), (format, more), stdin)

}  // namespace tailrace::preload
