// Calls that open, duplicate and close descriptors.
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>

#include "preload/call_files.hpp"
#include "preload/open_close.hpp"

namespace tailrace::preload {
namespace {

// The mode argument of open, which the caller passes only with flags that create a file.
mode_t mode_of(int flags, va_list more) {
    const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return makes ? va_arg(more, mode_t) : 0;
}

}  // namespace

#define OPEN(symbol, parameters, arguments, directory)                                                              \
    HOOK(int, symbol, parameters) {                                                                                 \
        va_list more;                                                                                               \
        va_start(more, flags);                                                                                      \
        const mode_t mode = mode_of(flags, more);                                                                   \
        va_end(more);                                                                                               \
        Traced call(Call::open);                                                                                    \
        const int descriptor =                                                                                      \
            placing::opened_file(staging::Opening{flags}, directory, path, [&] { return NEXT(symbol) arguments; }); \
        return record_open(call, descriptor, path, directory, flags);                                               \
    }
OPEN(open, (const char* path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char* path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(__open, (const char* path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(__open64, (const char* path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int directory, const char* path, int flags, ...), (directory, path, flags, mode), directory)
OPEN(openat64, (int directory, const char* path, int flags, ...), (directory, path, flags, mode), directory)

#define OPEN_AS(symbol, parameters, arguments, directory, flags)                                                    \
    HOOK(int, symbol, parameters) {                                                                                 \
        Traced call(Call::open);                                                                                    \
        const int descriptor =                                                                                      \
            placing::opened_file(staging::Opening{flags}, directory, path, [&] { return NEXT(symbol) arguments; }); \
        return record_open(call, descriptor, path, directory, flags);                                               \
    }
OPEN_AS(__open_2, (const char* path, int flags), (path, flags), AT_FDCWD, flags)
OPEN_AS(__open64_2, (const char* path, int flags), (path, flags), AT_FDCWD, flags)
OPEN_AS(__openat_2, (int directory, const char* path, int flags), (directory, path, flags), directory, flags)
OPEN_AS(__openat64_2, (int directory, const char* path, int flags), (directory, path, flags), directory, flags)
OPEN_AS(creat, (const char* path, mode_t mode), (path, mode), AT_FDCWD, O_CREAT | O_WRONLY | O_TRUNC)
OPEN_AS(creat64, (const char* path, mode_t mode), (path, mode), AT_FDCWD, O_CREAT | O_WRONLY | O_TRUNC)

#define OPEN_UNNAMED(symbol, parameters, arguments)                      \
    HOOK(int, symbol, parameters) {                                      \
        Traced call(Call::open);                                         \
        return record_unnamed_open(call, NEXT(symbol) arguments, flags); \
    }
OPEN_UNNAMED(shm_open, (const char* name, int flags, mode_t mode), (name, flags, mode))
OPEN_UNNAMED(open_by_handle_at, (int mount, struct file_handle* handle, int flags), (mount, handle, flags))

// Calls that replace XXXXXX in `name` by a unique text.
#define MKSTEMP(symbol, parameters, arguments)                                                   \
    HOOK(int, symbol, parameters) {                                                              \
        Traced call(Call::mkstemp);                                                              \
        const int descriptor = placing::temporary(name, [&] { return NEXT(symbol) arguments; }); \
        return record_open(call, descriptor, descriptor < 0 ? nullptr : name, AT_FDCWD, 0);      \
    }
MKSTEMP(mkstemp, (char* name), (name))
MKSTEMP(mkstemp64, (char* name), (name))
MKSTEMP(mkostemp, (char* name, int flags), (name, flags))
MKSTEMP(mkostemp64, (char* name, int flags), (name, flags))
MKSTEMP(mkstemps, (char* name, int suffix), (name, suffix))
MKSTEMP(mkstemps64, (char* name, int suffix), (name, suffix))
MKSTEMP(mkostemps, (char* name, int suffix, int flags), (name, suffix, flags))
MKSTEMP(mkostemps64, (char* name, int suffix, int flags), (name, suffix, flags))

#define CLOSE(symbol)                                                                    \
    HOOK(int, symbol, (int descriptor)) {                                                \
        Traced call(Call::close, descriptor);                                            \
        return record_close(call, descriptor, [&] { return NEXT(symbol)(descriptor); }); \
    }
CLOSE(close)
CLOSE(__close)

HOOK(int, close_range, (unsigned first, unsigned last, int flags)) {
    const int result = NEXT(close_range)(first, last, flags);
    if (result == 0 && !tailrace_silent) fd_table::clear(first, last);
    return result;
}

HOOK(void, closefrom, (int first)) {
    NEXT(closefrom)(first);
    if (!tailrace_silent && first >= 0) fd_table::clear(static_cast<unsigned>(first), ~0u);
}

#define DUP(symbol, parameters, arguments)                     \
    HOOK(int, symbol, parameters) {                            \
        Traced call(Call::dup, from);                          \
        return record_dup(call, from, NEXT(symbol) arguments); \
    }
DUP(dup, (int from), (from))
DUP(dup2, (int from, int wanted), (from, wanted))
DUP(__dup2, (int from, int wanted), (from, wanted))
DUP(dup3, (int from, int wanted, int flags), (from, wanted, flags))

#define FCNTL(symbol)                                                                                 \
    HOOK(int, symbol, (int descriptor, int command, ...)) {                                           \
        va_list more;                                                                                 \
        va_start(more, command);                                                                      \
        void* argument = va_arg(more, void*);                                                         \
        va_end(more);                                                                                 \
        Traced call(Call::fcntl, descriptor);                                                         \
        const int result = NEXT(symbol)(descriptor, command, argument);                               \
        if (call.is_recording() && result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) \
            fd_table::dup(descriptor, result);                                                        \
        return call.finish(result, {.detail = static_cast<uint64_t>(command)});                       \
    }
FCNTL(fcntl)
FCNTL(fcntl64)
FCNTL(__fcntl)

}  // namespace tailrace::preload
