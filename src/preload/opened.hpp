// Calls that open a file by its name: what all of them record.
#pragma once

#include <fcntl.h>

#include "preload/hook.hpp"

namespace tailrace::preload {

// Its path is not in the call: the kernel knows it.
inline int opened_unnamed(Traced& call, int descriptor, int flags) {
    if (call.on() && descriptor >= 0) closed(descriptor);
    call.set_descriptor(descriptor);
    return call.done(descriptor, {.detail = static_cast<uint64_t>(flags)});
}

// `path` may be memory that is none: it is looked at when the kernel has taken it.
inline int opened_as(Traced& call, int descriptor, const char* path, int directory, int flags) {
    if ((flags & O_TMPFILE) == O_TMPFILE) return opened_unnamed(call, descriptor, flags);  // the path is that of a directory
    if (!call.on()) return descriptor;
    const uint64_t file = descriptor >= 0 || errno != EFAULT ? file_of(path, directory) : 0;
    if (descriptor >= 0) opened(descriptor, file);
    call.set_descriptor(descriptor);
    return call.done(descriptor, {.detail = static_cast<uint64_t>(flags)}, file);
}

// A descriptor that is another one's copy.
inline int copied_as(Traced& call, int from, int to) {
    if (call.on() && to >= 0) copied(from, to);
    return call.done(to, {.detail = static_cast<uint64_t>(static_cast<unsigned>(to))});
}

// The end of a descriptor: `close` is the call itself.
template <class Close>
auto closed_by(Traced& call, int descriptor, Close close) {
    const uint64_t file = call.on() && descriptor >= 0 ? file_of(descriptor) : 0;
    if (call.on()) closed(descriptor);
    return call.done(close(), {}, file);
}

}  // namespace tailrace::preload
