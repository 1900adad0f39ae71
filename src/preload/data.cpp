// Calls that read, write, seek and sync by descriptor.
#include <aio.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "preload/hook.hpp"

namespace tailrace::preload {
namespace {

uint64_t bytes_of(const iovec* vectors, int count) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += vectors[i].iov_len;
    return bytes;
}

// Called after the call: if it failed (such as with EFAULT), the vectors are not read.
uint64_t bytes_of(const iovec* vectors, int count, ssize_t result) { return result < 0 ? 0 : bytes_of(vectors, count); }

void record_blocks(Traced& call, aiocb* const blocks[], int count) {
    for (int i = 0; call.is_recording() && i < count; ++i) {
        const aiocb* const block = blocks[i];
        if (block == nullptr || block->aio_lio_opcode == LIO_NOP) continue;
        call.set_call(block->aio_lio_opcode == LIO_READ ? Call::aio_read : Call::aio_write);
        call.set_descriptor(block->aio_fildes);
        call.record(0, {.offset = block->aio_offset, .bytes = block->aio_nbytes});
    }
}

}  // namespace

#define READ(symbol)                                                               \
    HOOK(ssize_t, symbol, (int descriptor, void* to, size_t bytes)) {              \
        Traced call(Call::read, descriptor);                                       \
        return call.finish(NEXT(symbol)(descriptor, to, bytes), {.bytes = bytes}); \
    }
READ(read)
READ(__read)

HOOK(ssize_t, __read_chk, (int descriptor, void* to, size_t bytes, size_t room)) {
    Traced call(Call::read, descriptor);
    return call.finish(NEXT(__read_chk)(descriptor, to, bytes, room), {.bytes = bytes});
}

#define WRITE(symbol)                                                                \
    HOOK(ssize_t, symbol, (int descriptor, const void* from, size_t bytes)) {        \
        Traced call(Call::write, descriptor);                                        \
        return call.finish(NEXT(symbol)(descriptor, from, bytes), {.bytes = bytes}); \
    }
WRITE(write)
WRITE(__write)

#define PREAD(symbol)                                                                                        \
    HOOK(ssize_t, symbol, (int descriptor, void* to, size_t bytes, off_t offset)) {                          \
        Traced call(Call::pread, descriptor);                                                                \
        return call.finish(NEXT(symbol)(descriptor, to, bytes, offset), {.offset = offset, .bytes = bytes}); \
    }
PREAD(pread)
PREAD(pread64)
PREAD(__pread64)

#define PREAD_CHK(symbol)                                                                                          \
    HOOK(ssize_t, symbol, (int descriptor, void* to, size_t bytes, off_t offset, size_t room)) {                   \
        Traced call(Call::pread, descriptor);                                                                      \
        return call.finish(NEXT(symbol)(descriptor, to, bytes, offset, room), {.offset = offset, .bytes = bytes}); \
    }
PREAD_CHK(__pread_chk)
PREAD_CHK(__pread64_chk)

#define PWRITE(symbol)                                                                                         \
    HOOK(ssize_t, symbol, (int descriptor, const void* from, size_t bytes, off_t offset)) {                    \
        Traced call(Call::pwrite, descriptor);                                                                 \
        return call.finish(NEXT(symbol)(descriptor, from, bytes, offset), {.offset = offset, .bytes = bytes}); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITE(__pwrite64)

#define VECTOR(symbol, name)                                                     \
    HOOK(ssize_t, symbol, (int descriptor, const iovec* vectors, int count)) {   \
        Traced call(Call::name, descriptor);                                     \
        const ssize_t result = NEXT(symbol)(descriptor, vectors, count);         \
        return call.finish(result, {.bytes = bytes_of(vectors, count, result)}); \
    }
VECTOR(readv, readv)
VECTOR(writev, writev)

#define VECTOR_AT(symbol, name)                                                                    \
    HOOK(ssize_t, symbol, (int descriptor, const iovec* vectors, int count, off_t offset)) {       \
        Traced call(Call::name, descriptor);                                                       \
        const ssize_t result = NEXT(symbol)(descriptor, vectors, count, offset);                   \
        return call.finish(result, {.offset = offset, .bytes = bytes_of(vectors, count, result)}); \
    }
VECTOR_AT(preadv, preadv)
VECTOR_AT(preadv64, preadv)
VECTOR_AT(pwritev, pwritev)
VECTOR_AT(pwritev64, pwritev)

#define VECTOR_AT_WITH_FLAGS(symbol, name)                                                                                         \
    HOOK(ssize_t, symbol, (int descriptor, const iovec* vectors, int count, off_t offset, int flags)) {                            \
        Traced call(Call::name, descriptor);                                                                                       \
        const ssize_t result = NEXT(symbol)(descriptor, vectors, count, offset, flags);                                            \
        return call.finish(result,                                                                                                 \
                           {.offset = offset, .bytes = bytes_of(vectors, count, result), .detail = static_cast<uint64_t>(flags)}); \
    }
VECTOR_AT_WITH_FLAGS(preadv2, preadv)
VECTOR_AT_WITH_FLAGS(preadv64v2, preadv)
VECTOR_AT_WITH_FLAGS(pwritev2, pwritev)
VECTOR_AT_WITH_FLAGS(pwritev64v2, pwritev)

#define SEEK(symbol)                                                                                                               \
    HOOK(off_t, symbol, (int descriptor, off_t offset, int whence)) {                                                              \
        Traced call(Call::lseek, descriptor);                                                                                      \
        return call.finish(NEXT(symbol)(descriptor, offset, whence), {.offset = offset, .detail = static_cast<uint64_t>(whence)}); \
    }
SEEK(lseek)
SEEK(lseek64)
SEEK(__lseek)
SEEK(llseek)

// A copy between two files: the event's file is the one that is written; its detail is the file that is read.
#define SENDFILE(symbol)                                                                                 \
    HOOK(ssize_t, symbol, (int to, int from, off_t* offset, size_t bytes)) {                             \
        Traced call(Call::sendfile, to);                                                                 \
        const ssize_t result = NEXT(symbol)(to, from, offset, bytes);                                    \
        return call.finish(result, {.bytes = bytes, .detail = call.is_recording() ? file_id(from) : 0}); \
    }
SENDFILE(sendfile)
SENDFILE(sendfile64)

HOOK(ssize_t, copy_file_range, (int from, off_t* from_offset, int to, off_t* to_offset, size_t bytes, unsigned flags)) {
    Traced call(Call::copy_file_range, to);
    const ssize_t result = NEXT(copy_file_range)(from, from_offset, to, to_offset, bytes, flags);
    return call.finish(result, {.bytes = bytes, .detail = call.is_recording() ? file_id(from) : 0});
}

HOOK(ssize_t, splice, (int from, off_t* from_offset, int to, off_t* to_offset, size_t bytes, unsigned flags)) {
    Traced call(Call::splice, to);
    const ssize_t result = NEXT(splice)(from, from_offset, to, to_offset, bytes, flags);
    return call.finish(result, {.bytes = bytes, .detail = call.is_recording() ? file_id(from) : 0});
}

// Asynchronous calls. The request is recorded, not the transfer. Its fields are read before the call.
#define ASYNCHRONOUS(symbol, name)                                                   \
    HOOK(int, symbol, (aiocb * block)) {                                             \
        Traced call(Call::name, block->aio_fildes);                                  \
        const int64_t offset = block->aio_offset;                                    \
        const uint64_t bytes = block->aio_nbytes;                                    \
        return call.finish(NEXT(symbol)(block), {.offset = offset, .bytes = bytes}); \
    }
ASYNCHRONOUS(aio_read, aio_read)
ASYNCHRONOUS(aio_read64, aio_read)
ASYNCHRONOUS(aio_write, aio_write)
ASYNCHRONOUS(aio_write64, aio_write)

// A list of requests (lio_listio): each is recorded separately. With LIO_NOWAIT they are recorded before the call, because the
// program may free a request as soon as it is notified of its end.
#define AIO_LIST(symbol)                                                               \
    HOOK(int, symbol, (int mode, aiocb* const blocks[], int count, sigevent* event)) { \
        Traced call(Call::aio_read);                                                   \
        if (mode == LIO_NOWAIT) record_blocks(call, blocks, count);                    \
        const int result = NEXT(symbol)(mode, blocks, count, event);                   \
        if (mode != LIO_NOWAIT) record_blocks(call, blocks, count);                    \
        return result;                                                                 \
    }
AIO_LIST(lio_listio)
AIO_LIST(lio_listio64)

HOOK(void, sync, (void)) {
    Traced call(Call::sync);
    NEXT(sync)();
    call.record(0);
}

#define SYNC(symbol)                                  \
    HOOK(int, symbol, (int descriptor)) {             \
        Traced call(Call::symbol, descriptor);        \
        return call.finish(NEXT(symbol)(descriptor)); \
    }
SYNC(fsync)
SYNC(fdatasync)

#define AIO_SYNC(symbol)                                    \
    HOOK(int, symbol, (int operation, aiocb* block)) {      \
        Traced call(Call::fsync, block->aio_fildes);        \
        return call.finish(NEXT(symbol)(operation, block)); \
    }
AIO_SYNC(aio_fsync)
AIO_SYNC(aio_fsync64)

HOOK(int, syncfs, (int descriptor)) {
    Traced call(Call::sync, descriptor);
    return call.finish(NEXT(syncfs)(descriptor));
}

HOOK(int, sync_file_range, (int descriptor, off_t offset, off_t bytes, unsigned flags)) {
    Traced call(Call::sync_file_range, descriptor);
    return call.finish(NEXT(sync_file_range)(descriptor, offset, bytes, flags),
                       {.offset = offset, .bytes = static_cast<uint64_t>(bytes), .detail = flags});
}

}  // namespace tailrace::preload
