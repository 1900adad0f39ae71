#include "preload/kernel_aio.hpp"

#include <sys/uio.h>

#include "preload/library_call.hpp"

namespace tailrace::preload {
namespace {

uint64_t bytes_of(const iocb& request) {
    if (request.aio_lio_opcode != IOCB_CMD_PREADV && request.aio_lio_opcode != IOCB_CMD_PWRITEV) return request.aio_nbytes;
    const auto* parts = reinterpret_cast<const iovec*>(request.aio_buf);
    uint64_t bytes = 0;
    for (uint64_t part = 0; part < request.aio_nbytes; ++part) bytes += parts[part].iov_len;
    return bytes;
}

Call call_of(const iocb& request) {
    switch (request.aio_lio_opcode) {
        case IOCB_CMD_PREAD:
        case IOCB_CMD_PREADV: return Call::io_submit_read;
        case IOCB_CMD_PWRITE:
        case IOCB_CMD_PWRITEV: return Call::io_submit_write;
        case IOCB_CMD_FSYNC: return Call::fsync;
        case IOCB_CMD_FDSYNC: return Call::fdatasync;
        default: return Call::none;
    }
}

}  // namespace

void record_submitted(const iocb* const* requests, long count, uint64_t begin_ns) {
    const int code = errno;
    const uint64_t end_ns = trace::now_ns();
    for (long k = 0; k < count; ++k) {
        const iocb& request = *requests[k];
        const Call call = call_of(request);
        if (call == Call::none) continue;
        const bool moves = call == Call::io_submit_read || call == Call::io_submit_write;
        const uint64_t bytes = moves ? bytes_of(request) : 0;
        const int descriptor = static_cast<int>(request.aio_fildes);
        trace::record({begin_ns, end_ns, static_cast<uint16_t>(call), tailrace_within, descriptor, file_id(descriptor),
                       moves ? static_cast<int64_t>(request.aio_offset) : trace::kNoOffset, bytes, static_cast<int64_t>(bytes), 0});
    }
    errno = code;
}

// The function of libaio, which returns -errno on failure. Some versions call syscall(), which must not record the requests again.
HOOK(int, io_submit, (void* context, long count, iocb** requests)) {
    return record_submit(requests, [&] {
        const RecordingPause pause;
        return NEXT(io_submit)(context, count, requests);
    });
}

}  // namespace tailrace::preload
