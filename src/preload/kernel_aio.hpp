// Requests of the kernel's asynchronous interface (io_submit).
#pragma once

#include <linux/aio_abi.h>

#include <cstdint>

namespace tailrace::preload {

// Records the first `count` requests, which were taken between these times: each as a transfer of the bytes that it asks for. The
// kernel moves them later, and counts them for no process.
void record_submitted(const iocb* const* requests, long count, uint64_t begin_ns);

}  // namespace tailrace::preload
