// Bytes of descriptors.
#include <aio.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "preload/hook.hpp"

namespace tailrace::preload {
namespace {

uint64_t bytes_of(const iovec* pieces, int count) {
    uint64_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
    return bytes;
}

// A call that sees pieces must not look at them before the kernel has found them to be memory.
uint64_t bytes_of(const iovec* pieces, int count, ssize_t result) { return result < 0 ? 0 : bytes_of(pieces, count); }

void note_blocks(Traced& call, aiocb* const blocks[], int count) {
    for (int i = 0; call.on() && i < count; ++i) {
        const aiocb* const block = blocks[i];
        if (block == nullptr || block->aio_lio_opcode == LIO_NOP) continue;
        call.set_call(block->aio_lio_opcode == LIO_READ ? Call::aio_read : Call::aio_write);
        call.set_descriptor(block->aio_fildes);
        call.note(0, {.offset = block->aio_offset, .bytes = block->aio_nbytes});
    }
}

}  // namespace

#define READ(symbol)                                                             \
    HOOK(ssize_t, symbol, (int descriptor, void* to, size_t bytes)) {            \
        Traced call(Call::read, descriptor);                                     \
        return call.done(NEXT(symbol)(descriptor, to, bytes), {.bytes = bytes}); \
    }
READ(read)
READ(__read)

HOOK(ssize_t, __read_chk, (int descriptor, void* to, size_t bytes, size_t room)) {
    Traced call(Call::read, descriptor);
    return call.done(NEXT(__read_chk)(descriptor, to, bytes, room), {.bytes = bytes});
}

#define WRITE(symbol)                                                              \
    HOOK(ssize_t, symbol, (int descriptor, const void* from, size_t bytes)) {      \
        Traced call(Call::write, descriptor);                                      \
        return call.done(NEXT(symbol)(descriptor, from, bytes), {.bytes = bytes}); \
    }
WRITE(write)
WRITE(__write)

#define PREAD(symbol)                                                                                      \
    HOOK(ssize_t, symbol, (int descriptor, void* to, size_t bytes, off_t offset)) {                        \
        Traced call(Call::pread, descriptor);                                                              \
        return call.done(NEXT(symbol)(descriptor, to, bytes, offset), {.offset = offset, .bytes = bytes}); \
    }
PREAD(pread)
PREAD(pread64)
PREAD(__pread64)

#define PREAD_CHK(symbol)                                                                                        \
    HOOK(ssize_t, symbol, (int descriptor, void* to, size_t bytes, off_t offset, size_t room)) {                 \
        Traced call(Call::pread, descriptor);                                                                    \
        return call.done(NEXT(symbol)(descriptor, to, bytes, offset, room), {.offset = offset, .bytes = bytes}); \
    }
PREAD_CHK(__pread_chk)
PREAD_CHK(__pread64_chk)

#define PWRITE(symbol)                                                                                       \
    HOOK(ssize_t, symbol, (int descriptor, const void* from, size_t bytes, off_t offset)) {                  \
        Traced call(Call::pwrite, descriptor);                                                               \
        return call.done(NEXT(symbol)(descriptor, from, bytes, offset), {.offset = offset, .bytes = bytes}); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITE(__pwrite64)

#define VECTOR(symbol, name)                                                  \
    HOOK(ssize_t, symbol, (int descriptor, const iovec* pieces, int count)) { \
        Traced call(Call::name, descriptor);                                  \
        const ssize_t result = NEXT(symbol)(descriptor, pieces, count);       \
        return call.done(result, {.bytes = bytes_of(pieces, count, result)}); \
    }
VECTOR(readv, readv)
VECTOR(writev, writev)

#define VECTOR_AT(symbol, name)                                                                 \
    HOOK(ssize_t, symbol, (int descriptor, const iovec* pieces, int count, off_t offset)) {     \
        Traced call(Call::name, descriptor);                                                    \
        const ssize_t result = NEXT(symbol)(descriptor, pieces, count, offset);                 \
        return call.done(result, {.offset = offset, .bytes = bytes_of(pieces, count, result)}); \
    }
VECTOR_AT(preadv, preadv)
VECTOR_AT(preadv64, preadv)
VECTOR_AT(pwritev, pwritev)
VECTOR_AT(pwritev64, pwritev)

#define VECTOR_AT_WITH_FLAGS(symbol, name)                                                                                      \
    HOOK(ssize_t, symbol, (int descriptor, const iovec* pieces, int count, off_t offset, int flags)) {                          \
        Traced call(Call::name, descriptor);                                                                                    \
        const ssize_t result = NEXT(symbol)(descriptor, pieces, count, offset, flags);                                          \
        return call.done(result,                                                                                                \
                         {.offset = offset, .bytes = bytes_of(pieces, count, result), .detail = static_cast<uint64_t>(flags)}); \
    }
VECTOR_AT_WITH_FLAGS(preadv2, preadv)
VECTOR_AT_WITH_FLAGS(preadv64v2, preadv)
VECTOR_AT_WITH_FLAGS(pwritev2, pwritev)
VECTOR_AT_WITH_FLAGS(pwritev64v2, pwritev)

#define SEEK(symbol)                                                                                                             \
    HOOK(off_t, symbol, (int descriptor, off_t offset, int whence)) {                                                            \
        Traced call(Call::lseek, descriptor);                                                                                    \
        return call.done(NEXT(symbol)(descriptor, offset, whence), {.offset = offset, .detail = static_cast<uint64_t>(whence)}); \
    }
SEEK(lseek)
SEEK(lseek64)
SEEK(__lseek)
SEEK(llseek)

// The file that is written to; the one that is read from is the detail.
#define SENDFILE(symbol)                                                                     \
    HOOK(ssize_t, symbol, (int to, int from, off_t* offset, size_t bytes)) {                 \
        Traced call(Call::sendfile, to);                                                     \
        const ssize_t result = NEXT(symbol)(to, from, offset, bytes);                        \
        return call.done(result, {.bytes = bytes, .detail = call.on() ? file_of(from) : 0}); \
    }
SENDFILE(sendfile)
SENDFILE(sendfile64)

HOOK(ssize_t, copy_file_range, (int from, off_t* from_offset, int to, off_t* to_offset, size_t bytes, unsigned flags)) {
    Traced call(Call::copy_file_range, to);
    const ssize_t result = NEXT(copy_file_range)(from, from_offset, to, to_offset, bytes, flags);
    return call.done(result, {.bytes = bytes, .detail = call.on() ? file_of(from) : 0});
}

HOOK(ssize_t, splice, (int from, off_t* from_offset, int to, off_t* to_offset, size_t bytes, unsigned flags)) {
    Traced call(Call::splice, to);
    const ssize_t result = NEXT(splice)(from, from_offset, to, to_offset, bytes, flags);
    return call.done(result, {.bytes = bytes, .detail = call.on() ? file_of(from) : 0});
}

// Asynchronous: what is recorded is the asking. The block's fields are those that the caller has filled.
#define ASYNCHRONOUS(symbol, name)                                                 \
    HOOK(int, symbol, (aiocb * block)) {                                           \
        Traced call(Call::name, block->aio_fildes);                                \
        const int64_t offset = block->aio_offset;                                  \
        const uint64_t bytes = block->aio_nbytes;                                  \
        return call.done(NEXT(symbol)(block), {.offset = offset, .bytes = bytes}); \
    }
ASYNCHRONOUS(aio_read, aio_read)
ASYNCHRONOUS(aio_read64, aio_read)
ASYNCHRONOUS(aio_write, aio_write)
ASYNCHRONOUS(aio_write64, aio_write)

// A list of them: each block is recorded as if it had been asked for alone. Of LIO_NOWAIT before the call: who is told of the end
// of a block may free it.
#define LIST(symbol)                                                                   \
    HOOK(int, symbol, (int mode, aiocb* const blocks[], int count, sigevent* event)) { \
        Traced call(Call::aio_read);                                                   \
        if (mode == LIO_NOWAIT) note_blocks(call, blocks, count);                      \
        const int result = NEXT(symbol)(mode, blocks, count, event);                   \
        if (mode != LIO_NOWAIT) note_blocks(call, blocks, count);                      \
        return result;                                                                 \
    }
LIST(lio_listio)
LIST(lio_listio64)

HOOK(void, sync, (void)) {
    Traced call(Call::sync);
    NEXT(sync)();
    call.note(0);
}

#define SYNC(symbol)                                \
    HOOK(int, symbol, (int descriptor)) {           \
        Traced call(Call::symbol, descriptor);      \
        return call.done(NEXT(symbol)(descriptor)); \
    }
SYNC(fsync)
SYNC(fdatasync)

#define SYNC_LATER(symbol)                                \
    HOOK(int, symbol, (int operation, aiocb* block)) {    \
        Traced call(Call::fsync, block->aio_fildes);      \
        return call.done(NEXT(symbol)(operation, block)); \
    }
SYNC_LATER(aio_fsync)
SYNC_LATER(aio_fsync64)

HOOK(int, syncfs, (int descriptor)) {
    Traced call(Call::sync, descriptor);
    return call.done(NEXT(syncfs)(descriptor));
}

HOOK(int, sync_file_range, (int descriptor, off_t offset, off_t bytes, unsigned flags)) {
    Traced call(Call::sync_file_range, descriptor);
    return call.done(NEXT(sync_file_range)(descriptor, offset, bytes, flags),
                     {.offset = offset, .bytes = static_cast<uint64_t>(bytes), .detail = flags});
}

}  // namespace tailrace::preload
