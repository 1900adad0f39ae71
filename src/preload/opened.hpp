// Calls that open a file by its name: what all of them record.
#pragma once

#include "preload/hook.hpp"

namespace tailrace::preload {

// `path` may be memory that is none: it is looked at when the kernel has taken it.
inline int opened_as(Traced& call, int descriptor, const char* path, int directory, int flags) {
    if (!call.on()) return descriptor;
    const uint64_t file = descriptor >= 0 || errno != EFAULT ? file_of(path, directory) : 0;
    if (descriptor >= 0) opened(descriptor, file);
    call.set_descriptor(descriptor);
    return call.done(descriptor, {.detail = static_cast<uint64_t>(flags)}, file);
}

// The end of a descriptor: `close` is the call itself.
template <class Close>
auto closed_by(Traced& call, int descriptor, Close close) {
    const uint64_t file = call.on() && descriptor >= 0 ? file_of(descriptor) : 0;
    if (call.on()) closed(descriptor);
    return call.done(close(), {}, file);
}

}  // namespace tailrace::preload
