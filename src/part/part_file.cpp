#include "part/part_file.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr size_t kMaxBuffers = 512;              // most buffers of one vectored write
constexpr uint64_t kCallBytes = 8u << 20;        // most bytes of one write call
constexpr uint64_t kSummedCallBytes = 4u << 20;  // with checksums: summed bytes are written while in a cache
constexpr uint64_t kBounceBytes = 1u << 20;
constexpr uint64_t kSmallSpanBytes = 4096;  // below this, copying is cheaper than one more buffer
constexpr uint64_t kMaxBridgeBytes = 64u << 10;
constexpr std::byte kZeros[kMaxBridgeBytes] = {};

WriteQueue without_queue;

}  // namespace

void ExtentWriter::write(uint64_t address, std::span<iovec> buffers) {
    if (address != end_) {
        end_extent();
        extent_ = end_ = address;
    }
    for (const iovec& buffer : buffers) {
        if (checksum_) sum_.add(buffer.iov_base, buffer.iov_len);
        end_ += buffer.iov_len;
    }
    bytes_ += end_ - address;
    ++write_calls_;
    file_->write_at(address, buffers);
}

void ExtentWriter::end_extent() {
    if (checksum_ && end_ != extent_) {
        records_.push_back({extent_, end_ - extent_, sum_.value()});
        sum_.reset();
    }
    extent_ = end_;
}

PartWriter::PartWriter(WriteQueue& queue, std::shared_ptr<HeldFile> file, bool checksum, Gaps gaps)
    : queue_(queue), written_(std::make_shared<ExtentWriter>(file, checksum)), file_(std::move(file)), gaps_(gaps),
      call_bytes_(checksum ? kSummedCallBytes : kCallBytes) {
    buffers_.reserve(kMaxBuffers);
}

PartWriter::PartWriter(HeldFile& file, bool checksum, Gaps gaps)
    : PartWriter(without_queue, std::shared_ptr<HeldFile>(std::shared_ptr<void>(), &file), checksum, gaps) {}

void PartWriter::add(uint64_t address, const void* data, uint64_t bytes) {
    if (bytes == 0) return;
    go_to(address);
    append(data, bytes);
}

void PartWriter::zeros(uint64_t address, uint64_t bytes) {
    if (bytes == 0) return;
    go_to(address);
    append_zeros(bytes);
}

void PartWriter::add_strided(uint64_t array_address, const Spans& spans, const BlockView& memory, uint64_t lo, uint64_t hi) {
    const uint64_t element_bytes = memory.element_bytes();
    const auto [first, last] = spans.touching(lo, hi);
    for (uint64_t span = first; span < last; ++span) {
        const uint64_t begin = spans.begin(span);
        const uint64_t from = std::max(begin, lo) - begin, to = std::min(begin + spans.length(), hi) - begin;
        go_to(array_address + (begin + from) * element_bytes);
        append_elements(memory, span * spans.length() + from, to - from);
    }
}

// Adds elements of a block. Long spans are written from the block's memory; short ones are first copied into one buffer.
void PartWriter::append_elements(const BlockView& memory, uint64_t begin, uint64_t n) {
    if (memory.span_bytes() >= kSmallSpanBytes)
        return memory.for_spans(begin, n, [&](const std::byte* data, uint64_t bytes) { append(data, bytes); });
    while (n > 0) {
        const uint64_t now = std::min(n, kBounceBytes / memory.element_bytes() / 4);
        std::byte* to = room_in_bounce(now * memory.element_bytes());
        memory.copy_out(begin, now, to);
        push_buffer(to, now * memory.element_bytes());
        begin += now;
        n -= now;
    }
}

// Begins a new extent, unless the address is the end of the open one.
void PartWriter::go_to(uint64_t address) {
    if (address == end_ && end_ != extent_) return;
    if (address < bridged_end_)
        fail(Status::INTERNAL, "address ", address, " of ", file_->path(), " comes after a gap before ", bridged_end_,
             " was filled with zeros; add in ascending order, or with gaps that are not the writer's");
    // Fills only a gap behind all added bytes: one before them may hold bytes of an earlier call.
    const bool behind_all = end_ != extent_ && end_ == highest_ && address > end_;
    if (gaps_ == Gaps::mine && behind_all && address - end_ < kMaxBridgeBytes) {
        append_zeros(address - end_);
        bridged_end_ = address;
        return;
    }
    write_out();
    end_extent();
    extent_ = end_ = address;
}

void PartWriter::append(const void* data, uint64_t bytes) {
    if (bytes < kSmallSpanBytes) {
        std::byte* to = room_in_bounce(bytes);
        std::memcpy(to, data, bytes);
        return push_buffer(to, bytes);
    }
    const auto* from = static_cast<const std::byte*>(data);
    while (bytes > 0) {
        const uint64_t now = std::min(bytes, call_bytes_ - gathered_);
        push_buffer(from, now);
        from += now;
        bytes -= now;
    }
}

void PartWriter::append_zeros(uint64_t bytes) {
    while (bytes > 0) {
        const uint64_t now = std::min(bytes, kMaxBridgeBytes);
        if (now < kSmallSpanBytes)
            append(kZeros, now);
        else
            push_buffer(kZeros, now);
        bytes -= now;
    }
}

std::byte* PartWriter::room_in_bounce(uint64_t bytes) {
    if (!bounce_) bounce_ = std::make_unique_for_overwrite<std::byte[]>(kBounceBytes);  // only used pages take memory
    if (bounce_used_ + bytes > kBounceBytes) write_out();
    std::byte* room = bounce_.get() + bounce_used_;
    bounce_used_ += bytes;
    return room;
}

void PartWriter::push_buffer(const void* data, uint64_t bytes) {
    auto* from = static_cast<std::byte*>(const_cast<void*>(data));
    if (!buffers_.empty() && static_cast<std::byte*>(buffers_.back().iov_base) + buffers_.back().iov_len == from)
        buffers_.back().iov_len += bytes;
    else
        buffers_.push_back({from, bytes});
    gathered_ += bytes;
    end_ += bytes;
    highest_ = std::max(highest_, end_);
    if (gathered_ >= call_bytes_ || buffers_.size() == kMaxBuffers) write_out();
}

void PartWriter::write_out() {
    if (gathered_ > 0)
        queue_.run(buffers_, [to = written_, address = end_ - gathered_](uint64_t offset, std::span<iovec> buffers) {
            to->write(address + offset, buffers);
        });
    buffers_.clear();
    gathered_ = 0;
    bounce_used_ = 0;
}

void PartWriter::end_extent() {
    if (extent_ != end_) queue_.run([to = written_] { to->end_extent(); });
    extent_ = end_;
}

void PartWriter::flush() {
    write_out();
    end_extent();
}

}  // namespace tailrace
