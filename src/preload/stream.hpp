// Calls on streams of the C library. No hook sees the reads and writes of the C library itself. Their bytes are computed from the
// contents of the stream's buffer before and after a call, and are recorded as a `fill` or a `flush` after the call:
//
//     after a call that reads from the stream:  filled  = read + unread after - unread before
//     after a call that writes to it:           flushed = written + unwritten before - unwritten after
//
// Exact for streams that one thread uses at a time, and that have no wide characters.
#pragma once

#include <stdio.h>
#include <sys/stat.h>

#include "preload/hook.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {

// RATIONALE: not fileno(), which sets errno for streams in memory.
inline int descriptor_of(const FILE* stream) {
    constexpr int kIsOnDescriptor = 0x2000;
    return stream != nullptr && (stream->_flags & kIsOnDescriptor) != 0 && stream->_fileno >= 0 ? stream->_fileno : -1;
}

// These fields are stable: the macros getc_unlocked and putc_unlocked compile them into programs (<bits/types/struct_FILE.h>).
inline int64_t unwritten_bytes(const FILE& stream) { return stream._IO_write_ptr - stream._IO_write_base; }

// Records bytes that the C library moved between a stream's buffer and its descriptor.
void record_buffer_transfer(Call call, int descriptor, int64_t bytes, uint64_t file = 0);
// Records the unwritten bytes of all streams as flushed: the C library is about to write them.
void record_unwritten_streams();
// Set when the process ends. The bytes in buffers are recorded as flushed; later writes to a stream count as flushed at once.
extern std::atomic<bool> streams_count_as_flushed;

class TracedStream : public Traced {
public:
    TracedStream(Call call, FILE* stream)
        : Traced(call, descriptor_of(stream)), stream_(stream), descriptor_(descriptor_of(stream)) {
        if (is_recording() && descriptor_ >= 0 && stream->_mode <= 0) before_ = buffer();
    }

    // The program has read so many bytes.
    void finish_read(int64_t bytes, const CallInfo& info = {}) {
        record(bytes, info);
        if (has_known_buffer()) record_transfers(bytes + buffer().unread - before_.unread, 0);
    }
    // The program has read an unknown number of bytes.
    void finish_unknown_read(int64_t result, const CallInfo& info = {}) {
        record(result, info);
        if (!has_known_buffer()) return;
        const Buffer now = buffer();
        record_transfers(has_new_contents(now) || now.next < before_.next ? contents(now) : 0, 0);
    }
    // The program has moved to another place in the file; `result` is minus the errno where the call failed.
    void finish_seek(int64_t result, int whence, const CallInfo& info) {
        record(result, info);
        if (!has_known_buffer()) return;
        const Buffer now = buffer();
        // A seek to the end of the buffer fills it again from the same place.
        const bool filled = has_new_contents(now) || (result >= 0 && now.next == now.end);
        record_transfers(result >= 0 && contents(now) == 0 ? read_before_end(now, whence) : filled ? contents(now) : 0, 0);
    }
    // The program has written `result` bytes; minus the errno where the call failed.
    void finish_write(int64_t result, const CallInfo& info = {}) {
        record(result, info);
        if (has_known_buffer()) record_transfers(0, result > 0 ? result : 0);
    }
    // The stream is closed. Its unwritten bytes were written, and its memory may be gone.
    int finish_close(int result) {
        finish(result, {}, file_);
        if (result >= 0) record_flush();
        return result;
    }
    void record_flush() {
        if (is_recording() && descriptor_ >= 0 && !streams_count_as_flushed)
            record_buffer_transfer(Call::flush, descriptor_, before_.unwritten, file_);
    }
    // Called before a call that closes the stream's descriptor.
    void prepare_close() {
        if (!is_recording() || descriptor_ < 0) return;
        file_ = file_id(descriptor_);
        fd_table::clear(descriptor_);
    }

private:
    struct Buffer {
        int64_t unread = 0, unwritten = 0;
        const char *next = nullptr, *end = nullptr;
        int64_t offset = 0;      // of the descriptor; -1 if the C library does not keep it
        bool goes_back = false;  // whether the C library seeks back to the buffer's begin before it writes the buffer
    };

    bool has_known_buffer() const { return is_recording() && descriptor_ >= 0 && stream_->_mode <= 0; }

    Buffer buffer() const {
        constexpr int kHasPushedBack = 0x100;  // ungetc put characters before the buffer
        const FILE& file = *stream_;
        const bool pushed_back = (file._flags & kHasPushedBack) != 0;
        const int64_t saved = pushed_back ? file._IO_save_end - file._IO_save_base : 0;
        return {
            file._IO_read_end - file._IO_read_ptr + saved,       unwritten_bytes(file), file._IO_read_ptr,
            pushed_back ? file._IO_save_end : file._IO_read_end, file._offset,          file._IO_read_end != file._IO_write_base};
    }

    int64_t contents(const Buffer& now) const { return now.end - stream_->_IO_buf_base; }

    bool has_new_contents(const Buffer& now) const {
        // Writing the buffer makes it empty: what it has now was read, even where it has the same end as before.
        return before_.unwritten > 0 || now.end != before_.end || now.offset != before_.offset;
    }

    // A seek reads the block of its target. Where the file ends before the target, the C library gives up what it has read.
    int64_t read_before_end(const Buffer& now, int whence) const {
        constexpr int kCannotRead = 4;
        const int64_t block = stream_->_IO_buf_end - stream_->_IO_buf_base, in_block = block > 0 ? now.offset & (block - 1) : 0;
        if ((stream_->_flags & kCannotRead) != 0 || now.offset < 0 || in_block == 0) return 0;
        if (whence == SEEK_CUR && !knew_place()) return 0;
        struct stat file;
        if (trace::raw::call(SYS_fstat, descriptor_, trace::raw::address(&file)) != 0 || !S_ISREG(file.st_mode)) return 0;
        const int64_t read = file.st_size - (now.offset - in_block);
        return read > 0 && read < in_block ? read : 0;
    }

    // Whether the C library knew its place in the file, after it wrote the buffer.
    bool knew_place() const {
        constexpr int kAppends = 0x1000;
        if (before_.unwritten == 0) return before_.offset >= 0;
        return (stream_->_flags & kAppends) == 0 && (before_.offset >= 0 || before_.goes_back);
    }

    void record_transfers(int64_t filled, int64_t put) {
        record_buffer_transfer(Call::flush, descriptor_,
                               put + (streams_count_as_flushed ? 0 : before_.unwritten - unwritten_bytes(*stream_)));
        record_buffer_transfer(Call::fill, descriptor_, filled);
    }

    FILE* stream_;
    int descriptor_;
    uint64_t file_ = 0;
    Buffer before_;
};

// A hook of a call on a stream. `...` is the method of TracedStream that records the call; it may use `result`.
#define TRACED_STREAM(Result, symbol, name, parameters, arguments, stream, ...) \
    HOOK(Result, symbol, parameters) {                                          \
        TracedStream call(Call::name, stream);                                  \
        const auto result = NEXT(symbol) arguments;                             \
        call.__VA_ARGS__;                                                       \
        return result;                                                          \
    }

}  // namespace tailrace::preload
