// Descriptors: where they come from, and their end.
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>

#include "preload/hook.hpp"

namespace tailrace::preload {
namespace {

bool has_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// `path` may be memory that is none: it is looked at when the kernel has taken it.
int opened_as(Traced& call, int descriptor, const char* path, int directory, int flags) {
    if (!call.on()) return descriptor;
    const uint64_t file = descriptor >= 0 || errno != EFAULT ? file_of(path, directory) : 0;
    if (descriptor >= 0) opened(descriptor, file);
    call.set_descriptor(descriptor);
    return call.done(descriptor, {.detail = static_cast<uint64_t>(flags)}, file);
}

}  // namespace

#define OPEN(symbol)                                                                 \
    HOOK(int, symbol, (const char* path, int flags, ...)) {                          \
        mode_t mode = 0;                                                             \
        if (has_mode(flags)) {                                                       \
            va_list more;                                                            \
            va_start(more, flags);                                                   \
            mode = va_arg(more, mode_t);                                             \
            va_end(more);                                                            \
        }                                                                            \
        Traced call(Call::open);                                                     \
        return opened_as(call, NEXT(symbol)(path, flags, mode), path, kHere, flags); \
    }
OPEN(open)
OPEN(open64)
OPEN(__open)
OPEN(__open64)

#define OPENAT(symbol)                                                                              \
    HOOK(int, symbol, (int directory, const char* path, int flags, ...)) {                          \
        mode_t mode = 0;                                                                            \
        if (has_mode(flags)) {                                                                      \
            va_list more;                                                                           \
            va_start(more, flags);                                                                  \
            mode = va_arg(more, mode_t);                                                            \
            va_end(more);                                                                           \
        }                                                                                           \
        Traced call(Call::open);                                                                    \
        return opened_as(call, NEXT(symbol)(directory, path, flags, mode), path, directory, flags); \
    }
OPENAT(openat)
OPENAT(openat64)

#define OPEN_2(symbol)                                                         \
    HOOK(int, symbol, (const char* path, int flags)) {                         \
        Traced call(Call::open);                                               \
        return opened_as(call, NEXT(symbol)(path, flags), path, kHere, flags); \
    }
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(symbol)                                                                      \
    HOOK(int, symbol, (int directory, const char* path, int flags)) {                         \
        Traced call(Call::open);                                                              \
        return opened_as(call, NEXT(symbol)(directory, path, flags), path, directory, flags); \
    }
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define CREAT(symbol)                                                                                \
    HOOK(int, symbol, (const char* path, mode_t mode)) {                                             \
        Traced call(Call::open);                                                                     \
        return opened_as(call, NEXT(symbol)(path, mode), path, kHere, O_CREAT | O_WRONLY | O_TRUNC); \
    }
CREAT(creat)
CREAT(creat64)

// The name is known when the call has made it.
int made_as(Traced& call, int descriptor, const char* name) {
    if (!call.on()) return descriptor;
    const uint64_t file = descriptor >= 0 ? file_of(name) : 0;
    if (descriptor >= 0) opened(descriptor, file);
    call.set_descriptor(descriptor);
    return call.done(descriptor, {}, file);
}

HOOK(int, shm_open, (const char* name, int flags, mode_t mode)) {
    Traced call(Call::open);
    const int descriptor = NEXT(shm_open)(name, flags, mode);
    if (call.on() && descriptor >= 0) closed(descriptor);  // the kernel knows its path
    call.set_descriptor(descriptor);
    return call.done(descriptor, {.detail = static_cast<uint64_t>(flags)});
}

#define MKSTEMP(symbol, parameters, arguments)              \
    HOOK(int, symbol, parameters) {                         \
        Traced call(Call::mkstemp);                         \
        return made_as(call, NEXT(symbol) arguments, name); \
    }
MKSTEMP(mkstemp, (char* name), (name))
MKSTEMP(mkstemp64, (char* name), (name))
MKSTEMP(mkostemp, (char* name, int flags), (name, flags))
MKSTEMP(mkostemp64, (char* name, int flags), (name, flags))
MKSTEMP(mkstemps, (char* name, int suffix), (name, suffix))
MKSTEMP(mkstemps64, (char* name, int suffix), (name, suffix))
MKSTEMP(mkostemps, (char* name, int suffix, int flags), (name, suffix, flags))
MKSTEMP(mkostemps64, (char* name, int suffix, int flags), (name, suffix, flags))

#define CLOSE(symbol)                                                                 \
    HOOK(int, symbol, (int descriptor)) {                                             \
        Traced call(Call::close, descriptor);                                         \
        const uint64_t file = call.on() && descriptor >= 0 ? file_of(descriptor) : 0; \
        if (call.on()) closed(descriptor);                                            \
        return call.done(NEXT(symbol)(descriptor), {}, file);                         \
    }
CLOSE(close)
CLOSE(__close)

HOOK(int, close_range, (unsigned first, unsigned last, int flags)) {
    const int result = NEXT(close_range)(first, last, flags);
    if (result == 0 && !tailrace_silent) closed(first, last);
    return result;
}

HOOK(void, closefrom, (int first)) {
    NEXT(closefrom)(first);
    if (!tailrace_silent && first >= 0) closed(static_cast<unsigned>(first), ~0u);
}

#define DUP(symbol, parameters, arguments)                                                  \
    HOOK(int, symbol, parameters) {                                                         \
        Traced call(Call::dup, from);                                                       \
        const int to = NEXT(symbol) arguments;                                              \
        if (call.on() && to >= 0) copied(from, to);                                         \
        return call.done(to, {.detail = static_cast<uint64_t>(static_cast<unsigned>(to))}); \
    }
DUP(dup, (int from), (from))
DUP(dup2, (int from, int wanted), (from, wanted))
DUP(__dup2, (int from, int wanted), (from, wanted))
DUP(dup3, (int from, int wanted, int flags), (from, wanted, flags))

#define FCNTL(symbol)                                                                                                   \
    HOOK(int, symbol, (int descriptor, int command, ...)) {                                                             \
        va_list more;                                                                                                   \
        va_start(more, command);                                                                                        \
        void* argument = va_arg(more, void*);                                                                           \
        va_end(more);                                                                                                   \
        Traced call(Call::fcntl, descriptor);                                                                           \
        const int result = NEXT(symbol)(descriptor, command, argument);                                                 \
        if (call.on() && result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) copied(descriptor, result); \
        return call.done(result, {.detail = static_cast<uint64_t>(command)});                                           \
    }
FCNTL(fcntl)
FCNTL(fcntl64)
FCNTL(__fcntl)

}  // namespace tailrace::preload
