// Calls that open, position, flush and close streams of the C library.
#include <mntent.h>
#include <stdio.h>
#include <sys/types.h>

#include "preload/call_files.hpp"
#include "preload/stream.hpp"

// The C library's list of streams, linked by _chain, and the lock that it takes before it changes the list or writes all streams.
extern "C" FILE* _IO_list_all;
extern "C" void _IO_list_lock();
extern "C" void _IO_list_unlock();

namespace tailrace::preload {
namespace {

FILE* record_open(Traced& call, FILE* stream, const char* path) {
    if (!call.is_recording()) return stream;
    const uint64_t file = path == nullptr || (stream == nullptr && errno == EFAULT) ? 0 : file_id(path);
    const int descriptor = descriptor_of(stream);
    if (descriptor >= 0) {
        call.set_descriptor(descriptor);
        fd_table::set(descriptor, file);
    }
    return call.finish(stream, {}, file);
}

}  // namespace

constinit std::atomic<bool> streams_count_as_flushed = false;

void record_buffer_transfer(Call call, int descriptor, int64_t bytes, uint64_t file) {
    if (bytes <= 0) return;
    const int code = errno;
    const uint64_t now_ns = trace::now_ns();
    const uint64_t of_file = file != 0 ? file : file_id(descriptor);
    trace::record({now_ns, now_ns, static_cast<uint16_t>(call), 0, descriptor, of_file, trace::kNoOffset,
                   static_cast<uint64_t>(bytes), bytes, 0});
    errno = code;
}

namespace {

// Called before a call that writes all streams; that call takes the lock as well.
void lock_and_record_unwritten_streams() {
    if (streams_count_as_flushed || !trace::is_recording()) return;
    _IO_list_lock();
    record_unwritten_streams();
    _IO_list_unlock();
}

}  // namespace

// Does not take the lock of the list, because a thread that holds the lock may never release it. The C library does the same at the
// end of the process.
void record_unwritten_streams() {
    if (streams_count_as_flushed || !trace::is_recording()) return;
    for (const FILE* stream = _IO_list_all; stream != nullptr; stream = stream->_chain)
        if (stream->_mode <= 0 && descriptor_of(stream) >= 0)
            record_buffer_transfer(Call::flush, descriptor_of(stream), unwritten_bytes(*stream));
}

#define FOPEN(symbol, parameters, arguments)                                                                        \
    HOOK(FILE*, symbol, parameters) {                                                                               \
        Traced call(Call::fopen);                                                                                   \
        const staging::Opening opening = staging::opening_of(mode);                                                 \
        FILE* const stream = placing::opened_file(opening, AT_FDCWD, path, [&] { return NEXT(symbol) arguments; }); \
        return record_open(call, stream, path);                                                                     \
    }
FOPEN(fopen, (const char* path, const char* mode), (path, mode))
FOPEN(fopen64, (const char* path, const char* mode), (path, mode))
FOPEN(setmntent, (const char* path, const char* mode), (path, mode))

#define FOPEN_UNNAMED(symbol, parameters, arguments)               \
    HOOK(FILE*, symbol, parameters) {                              \
        Traced call(Call::fopen);                                  \
        return record_open(call, NEXT(symbol) arguments, nullptr); \
    }
FOPEN_UNNAMED(tmpfile, (void), ())
FOPEN_UNNAMED(tmpfile64, (void), ())

// freopen closes the stream even if it fails, so the call is made only once, with the path that was chosen before.
#define FREOPEN(symbol)                                                       \
    HOOK(FILE*, symbol, (const char* path, const char* mode, FILE* stream)) { \
        TracedStream call(Call::fopen, stream);                               \
        call.prepare_close();                                                 \
        const placing::ChosenPath chosen(path, staging::opening_of(mode));    \
        FILE* const result = NEXT(symbol)(chosen.path(), mode, stream);       \
        call.record_flush();                                                  \
        return record_open(call, result, path);                               \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

HOOK(FILE*, fdopen, (int descriptor, const char* mode)) {
    Traced call(Call::fopen, descriptor);
    return call.finish(NEXT(fdopen)(descriptor, mode), {.detail = 1});
}

#define FCLOSE(symbol)                                  \
    HOOK(int, symbol, (FILE * stream)) {                \
        TracedStream call(Call::fclose, stream);        \
        call.prepare_close();                           \
        return call.finish_close(NEXT(symbol)(stream)); \
    }
FCLOSE(fclose)
FCLOSE(endmntent)
FCLOSE(pclose)

HOOK(int, fcloseall, (void)) {
    lock_and_record_unwritten_streams();
    Traced call(Call::fclose);
    return call.finish(NEXT(fcloseall)());
}

#define FFLUSH(symbol)                                              \
    HOOK(int, symbol, (FILE * stream)) {                            \
        if (stream == nullptr) lock_and_record_unwritten_streams(); \
        TracedStream call(Call::fflush, stream);                    \
        const int result = NEXT(symbol)(stream);                    \
        call.finish_write(result < 0 ? -int64_t{errno} : 0);        \
        return result;                                              \
    }
FFLUSH(fflush)
FFLUSH(fflush_unlocked)

// The new position may need other bytes of the file in the buffer.
#define FSEEK(symbol, parameters, arguments, whence, ...)            \
    TRACED_STREAM(int, symbol, fseek, parameters, arguments, stream, \
                  finish_seek(result < 0 ? -int64_t{errno} : 0, whence, CallInfo __VA_ARGS__))
FSEEK(fseek, (FILE * stream, long offset, int whence), (stream, offset, whence), whence,
      {.offset = offset, .detail = static_cast<uint64_t>(whence)})
FSEEK(fseeko, (FILE * stream, off_t offset, int whence), (stream, offset, whence), whence,
      {.offset = offset, .detail = static_cast<uint64_t>(whence)})
FSEEK(fseeko64, (FILE * stream, off_t offset, int whence), (stream, offset, whence), whence,
      {.offset = offset, .detail = static_cast<uint64_t>(whence)})
FSEEK(fsetpos, (FILE * stream, const fpos_t* position), (stream, position), SEEK_SET, {})
FSEEK(fsetpos64, (FILE * stream, const fpos64_t* position), (stream, position), SEEK_SET, {})

// getmntent reads a line of a table of file systems; the line's length is not known.
#define GETMNTENT(symbol, parameters, arguments) \
    TRACED_STREAM(mntent*, symbol, fgets, parameters, arguments, stream, finish_unknown_read(0))
GETMNTENT(getmntent, (FILE * stream), (stream))
GETMNTENT(getmntent_r, (FILE * stream, mntent* to, char* room, int bytes), (stream, to, room, bytes))
GETMNTENT(__getmntent_r, (FILE * stream, mntent* to, char* room, int bytes), (stream, to, room, bytes))

HOOK(void, rewind, (FILE * stream)) {
    TracedStream call(Call::fseek, stream);
    NEXT(rewind)(stream);
    call.finish_seek(0, SEEK_SET, {.offset = 0});
}

}  // namespace tailrace::preload
