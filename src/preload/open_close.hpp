// What calls record that open, duplicate or close a descriptor.
#pragma once

#include <fcntl.h>

#include "preload/hook.hpp"

namespace tailrace::preload {

// The call has no path. The kernel is asked for it when it is needed.
inline int record_unnamed_open(Traced& call, int descriptor, int flags) {
    if (call.is_recording() && descriptor >= 0) fd_table::clear(descriptor);
    call.set_descriptor(descriptor);
    return call.finish(descriptor, {.detail = static_cast<uint64_t>(flags)});
}

// Reads `path` only after the call: the kernel reports a path outside of memory as EFAULT.
inline int record_open(Traced& call, int descriptor, const char* path, int directory, int flags) {
    if ((flags & O_TMPFILE) == O_TMPFILE) return record_unnamed_open(call, descriptor, flags);  // the path is that of a directory
    if (!call.is_recording()) return descriptor;
    const uint64_t file = descriptor >= 0 || errno != EFAULT ? file_id(path, directory) : 0;
    if (descriptor >= 0) fd_table::set(descriptor, file);
    call.set_descriptor(descriptor);
    return call.finish(descriptor, {.detail = static_cast<uint64_t>(flags)}, file);
}

// `to` is a duplicate of `from`.
inline int record_dup(Traced& call, int from, int to) {
    if (call.is_recording() && to >= 0) fd_table::dup(from, to);
    return call.finish(to, {.detail = static_cast<uint64_t>(static_cast<unsigned>(to))});
}

// `close` makes the call itself.
template <class Close>
auto record_close(Traced& call, int descriptor, Close close) {
    const uint64_t file = call.is_recording() && descriptor >= 0 ? file_id(descriptor) : 0;
    if (call.is_recording()) fd_table::clear(descriptor);
    return call.finish(close(), {}, file);
}

}  // namespace tailrace::preload
