// Streams of the C library: where they come from, their places in files, and their end.
#include <mntent.h>
#include <stdio.h>
#include <sys/types.h>

#include "preload/stream.hpp"

// The C library's list of streams, by their _chain, and what it takes itself before it changes the list or writes them all.
extern "C" FILE* _IO_list_all;
extern "C" void _IO_list_lock();
extern "C" void _IO_list_unlock();

namespace tailrace::preload {
namespace {

FILE* opened_as(Traced& call, FILE* stream, const char* path) {
    if (!call.on()) return stream;
    const uint64_t file = path == nullptr || (stream == nullptr && errno == EFAULT) ? 0 : file_of(path);
    const int descriptor = descriptor_of(stream);
    if (descriptor >= 0) {
        call.set_descriptor(descriptor);
        opened(descriptor, file);
    }
    return call.done(stream, {}, file);
}

}  // namespace

constinit std::atomic<bool> streams_end = false;

void record_moved(Call call, int descriptor, int64_t bytes, uint64_t file) {
    if (bytes <= 0) return;
    const int code = errno;
    const uint64_t now_ns = trace::now_ns();
    const uint64_t of_file = file != 0 ? file : file_of(descriptor);
    trace::record({now_ns, now_ns, static_cast<uint16_t>(call), 0, descriptor, of_file, trace::kNowhere,
                   static_cast<uint64_t>(bytes), bytes, 0});
    errno = code;
}

namespace {

// The program is about to write all streams, which takes the lock as well.
void record_unwritten() {
    if (streams_end || !trace::is_on()) return;
    _IO_list_lock();
    record_unwritten_of_all();
    _IO_list_unlock();
}

}  // namespace

// RATIONALE: without the list's lock, as the C library itself goes through it at the end: who holds it may never come back.
void record_unwritten_of_all() {
    if (streams_end || !trace::is_on()) return;
    for (const FILE* stream = _IO_list_all; stream != nullptr; stream = stream->_chain)
        if (stream->_mode <= 0 && descriptor_of(stream) >= 0)
            record_moved(Call::flush, descriptor_of(stream), unwritten_of(*stream));
}

#define FOPEN(symbol, parameters, arguments, path)            \
    HOOK(FILE*, symbol, parameters) {                         \
        Traced call(Call::fopen);                             \
        return opened_as(call, NEXT(symbol) arguments, path); \
    }
FOPEN(fopen, (const char* path, const char* mode), (path, mode), path)
FOPEN(fopen64, (const char* path, const char* mode), (path, mode), path)
FOPEN(tmpfile, (void), (), nullptr)
FOPEN(tmpfile64, (void), (), nullptr)
FOPEN(setmntent, (const char* path, const char* mode), (path, mode), path)
FOPEN(popen, (const char* words, const char* mode), (words, mode), nullptr)

#define FREOPEN(symbol)                                                       \
    HOOK(FILE*, symbol, (const char* path, const char* mode, FILE* stream)) { \
        OfStream call(Call::fopen, stream);                                   \
        call.close();                                                         \
        FILE* const result = NEXT(symbol)(path, mode, stream);                \
        call.flushed();                                                       \
        return opened_as(call, result, path);                                 \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

HOOK(FILE*, fdopen, (int descriptor, const char* mode)) {
    Traced call(Call::fopen, descriptor);
    return call.done(NEXT(fdopen)(descriptor, mode), {.detail = 1});
}

#define FCLOSE(symbol)                           \
    HOOK(int, symbol, (FILE * stream)) {         \
        OfStream call(Call::fclose, stream);     \
        call.close();                            \
        return call.ended(NEXT(symbol)(stream)); \
    }
FCLOSE(fclose)
FCLOSE(endmntent)
FCLOSE(pclose)

HOOK(int, fcloseall, (void)) {
    record_unwritten();
    Traced call(Call::fclose);
    return call.done(NEXT(fcloseall)());
}

#define FFLUSH(symbol)                              \
    HOOK(int, symbol, (FILE * stream)) {            \
        if (stream == nullptr) record_unwritten();  \
        OfStream call(Call::fflush, stream);        \
        const int result = NEXT(symbol)(stream);    \
        call.put(result < 0 ? -int64_t{errno} : 0); \
        return result;                              \
    }
FFLUSH(fflush)
FFLUSH(fflush_unlocked)

// Where it is now may need another part of the file in the buffer.
#define FSEEK(symbol, parameters, arguments, ...)                \
    OF_STREAM(int, symbol, fseek, parameters, arguments, stream, \
              took_some(result < 0 ? -int64_t{errno} : 0, About __VA_ARGS__, true))
FSEEK(fseek, (FILE * stream, long offset, int whence), (stream, offset, whence),
      {.offset = offset, .detail = static_cast<uint64_t>(whence)})
FSEEK(fseeko, (FILE * stream, off_t offset, int whence), (stream, offset, whence),
      {.offset = offset, .detail = static_cast<uint64_t>(whence)})
FSEEK(fseeko64, (FILE * stream, off_t offset, int whence), (stream, offset, whence),
      {.offset = offset, .detail = static_cast<uint64_t>(whence)})
FSEEK(fsetpos, (FILE * stream, const fpos_t* position), (stream, position), {})
FSEEK(fsetpos64, (FILE * stream, const fpos64_t* position), (stream, position), {})

// A line of a table of file systems; how long it was is not known.
#define GETMNTENT(symbol, parameters, arguments) OF_STREAM(mntent*, symbol, fgets, parameters, arguments, stream, took_some(0))
GETMNTENT(getmntent, (FILE * stream), (stream))
GETMNTENT(getmntent_r, (FILE * stream, mntent* to, char* room, int bytes), (stream, to, room, bytes))
GETMNTENT(__getmntent_r, (FILE * stream, mntent* to, char* room, int bytes), (stream, to, room, bytes))

HOOK(void, rewind, (FILE * stream)) {
    OfStream call(Call::fseek, stream);
    NEXT(rewind)(stream);
    call.took_some(0, {.offset = 0}, true);
}

}  // namespace tailrace::preload
