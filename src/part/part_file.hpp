// Writing one part: extents at planned addresses, gathered into few large vectored writes, with a checksum of each extent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/checksum.hpp"
#include "layout/block_view.hpp"
#include "part/held_file.hpp"
#include "part/write_queue.hpp"

namespace tailrace {

// A run of bytes of a file and its checksum.
struct SealRecord {
    uint64_t address = 0, bytes = 0, sum = 0;
    bool operator==(const SealRecord&) const = default;
};

// Runs of bytes of a file as they are written, and their checksums. It may belong to the thread of a WriteQueue.
class ExtentWriter {
public:
    ExtentWriter(std::shared_ptr<HeldFile> file, bool checksum) : file_(std::move(file)), checksum_(checksum) {}
    // Goes on with the run, or begins another where the address is another. Uses up the pieces.
    void write(uint64_t address, std::span<iovec> pieces);
    void end_extent();

    const std::vector<SealRecord>& records() const { return records_; }
    uint64_t bytes() const { return bytes_; }
    uint64_t write_calls() const { return write_calls_; }

private:
    std::shared_ptr<HeldFile> file_;
    const bool checksum_;
    uint64_t extent_ = 0, end_ = 0;
    Checksum sum_;
    std::vector<SealRecord> records_;
    uint64_t bytes_ = 0, write_calls_ = 0;
};

class PartWriter {
public:
    // Whether the gaps between what is added belong to this writer too: small ones are then bridged with zeros, so that fewer and
    // larger writes do; addresses are ascending
    // then (INTERNAL otherwise). With several writers in a file they belong to others.
    enum class Gaps { not_mine, mine };

    PartWriter(WriteQueue& queue, std::shared_ptr<HeldFile> file, bool checksum, Gaps gaps = Gaps::not_mine);
    PartWriter(HeldFile& file, bool checksum, Gaps gaps = Gaps::not_mine);  // at once; the file outlives it
    PartWriter(const PartWriter&) = delete;

    // Bytes at an address. Ascending addresses make the fewest writes; none is written twice. The data stays unchanged until
    // write_out() or flush() returns.
    void add(uint64_t address, const void* data, uint64_t bytes);
    void zeros(uint64_t address, uint64_t bytes);
    // The elements of a block whose runs in the array (at array_address) lie in file positions [lo, hi), elements of the array.
    void add_strided(uint64_t array_address, const Runs& runs, const BlockView& memory, uint64_t lo, uint64_t hi);
    // Writes what is still gathered: its data is no longer needed. A run of bytes goes on over it.
    void write_out();
    // The same, and ends the run of bytes, so that records() is complete. The writer can be used further.
    void flush();

    // What was written: one record for each run of bytes without a gap, complete when the queue has done what flush() asked for.
    // No records without checksums. Bridges count as bytes.
    const std::shared_ptr<ExtentWriter>& written() const { return written_; }
    const std::vector<SealRecord>& records() const { return written_->records(); }
    uint64_t bytes() const { return written_->bytes(); }
    uint64_t write_calls() const { return written_->write_calls(); }

private:
    void go_to(uint64_t address);
    void append(const void* data, uint64_t bytes);
    void append_elements(const BlockView& memory, uint64_t begin, uint64_t n);
    void append_zeros(uint64_t bytes);
    void push_piece(const void* data, uint64_t bytes);
    std::byte* room_in_bounce(uint64_t bytes);
    void end_extent();

    WriteQueue& queue_;
    std::shared_ptr<ExtentWriter> written_;
    const std::shared_ptr<HeldFile> file_;
    const Gaps gaps_;
    const uint64_t call_bytes_;  // the most that one write call takes
    std::vector<iovec> pieces_;
    std::unique_ptr<std::byte[]> bounce_;
    uint64_t bounce_used_ = 0;
    uint64_t gathered_ = 0;                   // bytes in pieces_
    uint64_t extent_ = 0, end_ = 0;           // the run of bytes without a gap that is being written: [extent_, end_)
    uint64_t highest_ = 0, bridged_end_ = 0;  // ends of all that was added, and of the last gap that was bridged
};

}  // namespace tailrace
