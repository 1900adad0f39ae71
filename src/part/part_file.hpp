// Writes one part: extents at planned addresses, gathered into few large vectored writes, with a checksum of each extent.
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

// An extent of a file and the checksum of its bytes.
struct SealRecord {
    uint64_t address = 0, bytes = 0, sum = 0;
    bool operator==(const SealRecord&) const = default;
};

// Writes extents of a file and computes their checksums. It may belong to the thread of a WriteQueue.
class ExtentWriter {
public:
    ExtentWriter(std::shared_ptr<HeldFile> file, bool checksum) : file_(std::move(file)), checksum_(checksum) {}
    // Writes bytes. They continue the open extent if the address is its end, else they begin another. Changes the list of buffers.
    void write(uint64_t address, std::span<iovec> buffers);
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
    // Whether the gaps between the added bytes belong to this writer. It fills small gaps with zeros, so that writes are fewer
    // and larger; addresses must then ascend (INTERNAL otherwise). In a file with several writers the gaps may belong to another
    // one.
    enum class Gaps { not_mine, mine };  // `mine`: no other writer writes there

    PartWriter(WriteQueue& queue, std::shared_ptr<HeldFile> file, bool checksum, Gaps gaps = Gaps::not_mine);
    PartWriter(HeldFile& file, bool checksum, Gaps gaps = Gaps::not_mine);  // writes without a queue; the file must outlive it
    PartWriter(const PartWriter&) = delete;

    // Adds bytes at an address. No byte of the file may be added twice. Ascending addresses make the fewest writes. The data must
    // stay unchanged until write_out() or flush() returns.
    void add(uint64_t address, const void* data, uint64_t bytes);
    void zeros(uint64_t address, uint64_t bytes);
    // Adds a block's elements at positions [lo, hi) of the array at array_address. `spans`: of the block in the array.
    void add_strided(uint64_t array_address, const Spans& spans, const BlockView& memory, uint64_t lo, uint64_t hi);
    // Writes the gathered bytes; the caller's data is no longer needed. The extent is not ended.
    void write_out();
    // Does write_out() and ends the extent, so that records() is complete. More may be added afterwards.
    void flush();

    const std::shared_ptr<ExtentWriter>& written() const { return written_; }
    // One record for each extent; none where checksums are off. Complete after flush(), once the queue has done its writes.
    const std::vector<SealRecord>& records() const { return written_->records(); }
    // Bytes written, with the zeros in gaps.
    uint64_t bytes() const { return written_->bytes(); }
    uint64_t write_calls() const { return written_->write_calls(); }

private:
    void go_to(uint64_t address);
    void append(const void* data, uint64_t bytes);
    void append_elements(const BlockView& memory, uint64_t begin, uint64_t n);
    void append_zeros(uint64_t bytes);
    void push_buffer(const void* data, uint64_t bytes);
    std::byte* room_in_bounce(uint64_t bytes);
    void end_extent();

    WriteQueue& queue_;
    std::shared_ptr<ExtentWriter> written_;
    const std::shared_ptr<HeldFile> file_;
    const Gaps gaps_;
    const uint64_t call_bytes_;  // the most that one write call takes
    std::vector<iovec> buffers_;
    std::unique_ptr<std::byte[]> bounce_;
    uint64_t bounce_used_ = 0;
    uint64_t gathered_ = 0;                   // bytes in buffers_
    uint64_t extent_ = 0, end_ = 0;           // the extent that is being written: [extent_, end_)
    uint64_t highest_ = 0, bridged_end_ = 0;  // ends of all that was added, and of the last gap that was bridged
};

}  // namespace tailrace
