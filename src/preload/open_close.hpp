// Records calls that open, duplicate or close a file descriptor.
#pragma once

#include <fcntl.h>

#include "preload/hook.hpp"

namespace tailrace::preload {

// Records a call that opens a descriptor without a path. The kernel is asked for the file's name when it is needed.
inline int record_unnamed_open(Traced& call, int descriptor, int flags) {
    if (call.is_recording() && descriptor >= 0) fd_table::clear(descriptor);
    call.set_descriptor(descriptor);
    return call.finish(descriptor, {.detail = static_cast<uint64_t>(flags)});
}

// Records a call that opens `path`. Called after the call: if `path` was a bad pointer, the call failed with EFAULT, and `path` is
// not read.
inline int record_open(Traced& call, int descriptor, const char* path, int directory, int flags) {
    if ((flags & O_TMPFILE) == O_TMPFILE) return record_unnamed_open(call, descriptor, flags);  // the path is that of a directory
    if (!call.is_recording()) return descriptor;
    const uint64_t file = descriptor >= 0 || errno != EFAULT ? file_id(path, directory) : 0;
    if (descriptor >= 0) fd_table::set(descriptor, file);
    call.set_descriptor(descriptor);
    return call.finish(descriptor, {.detail = static_cast<uint64_t>(flags)}, file);
}

// Records a call that made `to` a duplicate of the descriptor `from`.
inline int record_dup(Traced& call, int from, int to) {
    if (call.is_recording() && to >= 0) fd_table::dup(from, to);
    return call.finish(to, {.detail = static_cast<uint64_t>(static_cast<unsigned>(to))});
}

// Closes a descriptor by calling `close`, and records the call.
template <class Close>
auto record_close(Traced& call, int descriptor, Close close) {
    const uint64_t file = call.is_recording() && descriptor >= 0 ? file_id(descriptor) : 0;
    if (call.is_recording()) fd_table::clear(descriptor);
    return call.finish(close(), {}, file);
}

}  // namespace tailrace::preload
