// Requests of the kernel's asynchronous interface (io_submit).
#pragma once

#include <linux/aio_abi.h>

#include <cstdint>

#include "preload/hook.hpp"

namespace tailrace::preload {

// Records the first `count` requests, which the kernel accepted from `begin_ns` until now: each as a transfer of the bytes that it
// requests. The kernel transfers the bytes later, and does not count them in /proc/self/io of any process.
void record_submitted(const iocb* const* requests, long count, uint64_t begin_ns);

// Submits requests by calling submit(), which returns how many requests the kernel has accepted, and records those.
template <class Submit>
auto record_submit(const iocb* const* requests, Submit submit) {
    const bool is_recording = !tailrace_silent && trace::is_recording();
    const uint64_t begin_ns = is_recording ? trace::now_ns() : 0;
    const auto taken = submit();
    if (is_recording) record_submitted(requests, taken, begin_ns);
    return taken;
}

}  // namespace tailrace::preload
