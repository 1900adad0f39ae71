// Calls on streams of the C library. Its own reads and writes do not pass by here; what lies in a stream's buffer before and after
// a call tells how many bytes they moved, which is recorded as a `fill` or a `flush` behind the call.
//
//     after a call that takes bytes from the stream:  filled  = taken + unread after - unread before
//     after a call that puts bytes into it:           flushed = put + unwritten before - unwritten after
//
// Exact for streams that one thread uses at a time, and that are not of wide characters.
#pragma once

#include <stdio.h>

#include "preload/hook.hpp"

namespace tailrace::preload {

// Without fileno(), which sets errno for streams in memory.
inline int descriptor_of(const FILE* stream) {
    constexpr int kIsOnDescriptor = 0x2000;
    return stream != nullptr && (stream->_flags & kIsOnDescriptor) != 0 && stream->_fileno >= 0 ? stream->_fileno : -1;
}

// The fields are those that <bits/types/struct_FILE.h> has for getc_unlocked and putc_unlocked, which programs contain.
inline int64_t unwritten_of(const FILE& stream) { return stream._IO_write_ptr - stream._IO_write_base; }

// Bytes went from a stream's buffer to its descriptor, or the other way.
void record_moved(Call call, int descriptor, int64_t bytes, uint64_t file = 0);
// What all streams are about to write, by their ends or by fflush(NULL).
void record_unwritten_of_all();
// The process ends: what lies in streams has been recorded as written, and what is put into them from now on is so at once.
extern std::atomic<bool> streams_end;

class OfStream : public Traced {
public:
    OfStream(Call call, FILE* stream) : Traced(call, descriptor_of(stream)), stream_(stream), descriptor_(descriptor_of(stream)) {
        if (on() && descriptor_ >= 0 && stream->_mode <= 0) before_ = look();
    }

    // The program has got so many bytes.
    void took(int64_t bytes, const About& about = {}) {
        note(bytes, about);
        if (is_seen()) moved(bytes + look().unread - before_.unread, 0);
    }
    // The program has got an unknown number of bytes, or has another place in the file.
    void took_some(int64_t answer, const About& about = {}, bool seeks = false) {
        note(answer, about);
        if (!is_seen()) return;
        const Buffer now = look();
        // Once more from the same place: a seek to the buffer's end fills it anew.
        const bool again = seeks ? answer >= 0 && now.next == now.end : now.next < before_.next;
        const bool filled = now.end != before_.end || now.offset != before_.offset || again;
        moved(filled ? now.end - stream_->_IO_buf_base : 0, 0);
    }
    // The program has given so many bytes; an answer less than 0 is minus an errno.
    void put(int64_t answer, const About& about = {}) {
        note(answer, about);
        if (is_seen()) moved(0, answer > 0 ? answer : 0);
    }
    // The stream's end: what it held is written, and it is not looked at any more.
    int ended(int result) {
        done(result, {}, file_);
        if (result >= 0) flushed();
        return result;
    }
    void flushed() {
        if (on() && descriptor_ >= 0 && !streams_end) record_moved(Call::flush, descriptor_, before_.unwritten, file_);
    }
    // Before a call that closes the stream's descriptor.
    void close() {
        if (!on() || descriptor_ < 0) return;
        file_ = file_of(descriptor_);
        closed(descriptor_);
    }

private:
    struct Buffer {
        int64_t unread = 0, unwritten = 0;
        const char *next = nullptr, *end = nullptr;
        int64_t offset = 0;  // of the descriptor, -1 where the C library does not keep it
    };

    bool is_seen() const { return on() && descriptor_ >= 0 && stream_->_mode <= 0; }

    Buffer look() const {
        constexpr int kHasReturned = 0x100;  // characters of ungetc lie in front of the buffer
        const FILE& of = *stream_;
        const bool returned = (of._flags & kHasReturned) != 0;
        const int64_t behind = returned ? of._IO_save_end - of._IO_save_base : 0;
        return {of._IO_read_end - of._IO_read_ptr + behind, unwritten_of(of), of._IO_read_ptr,
                returned ? of._IO_save_end : of._IO_read_end, of._offset};
    }

    void moved(int64_t filled, int64_t put) {
        record_moved(Call::flush, descriptor_, put + (streams_end ? 0 : before_.unwritten - unwritten_of(*stream_)));
        record_moved(Call::fill, descriptor_, filled);
    }

    FILE* stream_;
    int descriptor_;
    uint64_t file_ = 0;
    Buffer before_;
};

// A hook of a call on a stream; what it records is said by `...`, of its `result`.
#define OF_STREAM(answer, symbol, name, parameters, arguments, stream, ...) \
    HOOK(answer, symbol, parameters) {                                      \
        OfStream call(Call::name, stream);                                  \
        const auto result = NEXT(symbol) arguments;                         \
        call.__VA_ARGS__;                                                   \
        return result;                                                      \
    }

}  // namespace tailrace::preload
