#include "part/part_file.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr size_t kMaxPieces = 512;               // of one vectored write
constexpr uint64_t kCallBytes = 8u << 20;        // of one write
constexpr uint64_t kSummedCallBytes = 4u << 20;  // with checksums: what was just summed is still in a cache when it is written
constexpr uint64_t kBounceBytes = 1u << 20;
constexpr uint64_t kSmallPieceBytes = 4096;  // below this, copying is cheaper than one more piece
constexpr uint64_t kMaxBridgeBytes = 64u << 10;
constexpr std::byte kZeros[kMaxBridgeBytes] = {};

template <size_t Bytes>
void copy_spread(std::byte* to, const std::byte* from, int64_t stride_bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i, to += Bytes, from += stride_bytes) std::memcpy(to, from, Bytes);
}

void copy_spread(std::byte* to, const std::byte* from, uint64_t element_bytes, int64_t stride_bytes, uint64_t count) {
    switch (element_bytes) {
        case 1: return copy_spread<1>(to, from, stride_bytes, count);
        case 2: return copy_spread<2>(to, from, stride_bytes, count);
        case 4: return copy_spread<4>(to, from, stride_bytes, count);
        case 8: return copy_spread<8>(to, from, stride_bytes, count);
        default: fail(Status::INTERNAL, "elements of ", element_bytes, " bytes");
    }
}

std::vector<int64_t> strides_of(const BlockMemory& memory) {
    if (!memory.stride_bytes.empty()) return memory.stride_bytes;
    std::vector<int64_t> strides(memory.count.size());
    auto next = static_cast<int64_t>(memory.element_bytes);
    for (size_t d = strides.size(); d-- > 0; next *= static_cast<int64_t>(memory.count[d])) strides[d] = next;
    return strides;
}

// Whether the dimensions from `first` on lie in memory as they do in a file.
bool is_dense_from(const BlockMemory& memory, size_t first) {
    auto expected = static_cast<int64_t>(memory.element_bytes);
    for (size_t d = memory.count.size(); d-- > first; expected *= static_cast<int64_t>(memory.count[d]))
        if (memory.count[d] != 1 && memory.stride_bytes[d] != expected) return false;
    return true;
}

}  // namespace

PartWriter::PartWriter(File& file, bool checksum, Gaps gaps)
    : file_(file), checksum_(checksum), gaps_(gaps), call_bytes_(checksum ? kSummedCallBytes : kCallBytes) {
    pieces_.reserve(kMaxPieces);
}

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

void PartWriter::add_strided(uint64_t array_address, const Runs& runs, const BlockMemory& memory, uint64_t lo, uint64_t hi) {
    BlockMemory strided = memory;
    strided.stride_bytes = strides_of(memory);
    const auto outer = static_cast<size_t>(runs.outer_dims());
    const auto [first, last] = runs.touching(lo, hi);
    uint64_t index[kMaxDims] = {};
    for (uint64_t run = first; run < last; ++run) {
        const uint64_t begin = runs.begin(run);
        const uint64_t from = std::max(begin, lo) - begin, to = std::min(begin + runs.length(), hi) - begin;
        runs.outer_index(run, index);
        const std::byte* data = memory.data;
        for (size_t d = 0; d < outer; ++d) data += static_cast<int64_t>(index[d]) * strided.stride_bytes[d];
        go_to(array_address + (begin + from) * memory.element_bytes);
        append_run(strided, outer, data, from, to);
    }
}

// Elements [first, last) of a run that spans the dimensions from `outer` on.
void PartWriter::append_run(const BlockMemory& memory, size_t outer, const std::byte* run, uint64_t first, uint64_t last) {
    const uint64_t element_bytes = memory.element_bytes;
    if (is_dense_from(memory, outer)) return append(run + first * element_bytes, (last - first) * element_bytes);
    // Line by line along the fastest dimension.
    const size_t fastest = memory.count.size() - 1;
    const uint64_t line = memory.count[fastest];
    const int64_t stride = memory.stride_bytes[fastest];
    while (first < last) {
        uint64_t number = first / line;
        const uint64_t within = first % line, count = std::min(line - within, last - first);
        const std::byte* data = run + static_cast<int64_t>(within) * stride;
        for (size_t d = fastest; d-- > outer; number /= memory.count[d])
            data += static_cast<int64_t>(number % memory.count[d]) * memory.stride_bytes[d];
        if (stride == static_cast<int64_t>(element_bytes))
            append(data, count * element_bytes);
        else
            append_spread(data, element_bytes, stride, count);
        first += count;
    }
}

void PartWriter::append_spread(const std::byte* data, uint64_t element_bytes, int64_t stride_bytes, uint64_t count) {
    while (count > 0) {
        const uint64_t now = std::min(count, kBounceBytes / element_bytes / 4);
        std::byte* to = room_in_bounce(now * element_bytes);
        copy_spread(to, data, element_bytes, stride_bytes, now);
        push_piece(to, now * element_bytes);
        data += static_cast<int64_t>(now) * stride_bytes;
        count -= now;
    }
}

// Begins a new extent at an address, unless it goes on from the last one.
void PartWriter::go_to(uint64_t address) {
    if (address == end_ && end_ != extent_) return;
    if (address < bridged_end_)
        fail(Status::INTERNAL, "address ", address, " of ", file_.path(), " comes after a gap before ", bridged_end_,
             " was filled with zeros; add in ascending order, or with gaps that are not the writer's");
    // Only behind all that was added: a gap further in front may hold what an earlier call wrote.
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
    if (bytes < kSmallPieceBytes) {
        std::byte* to = room_in_bounce(bytes);
        std::memcpy(to, data, bytes);
        return push_piece(to, bytes);
    }
    const auto* from = static_cast<const std::byte*>(data);
    while (bytes > 0) {
        const uint64_t now = std::min(bytes, call_bytes_ - gathered_);
        push_piece(from, now);
        from += now;
        bytes -= now;
    }
}

void PartWriter::append_zeros(uint64_t bytes) {
    while (bytes > 0) {
        const uint64_t now = std::min(bytes, kMaxBridgeBytes);
        if (now < kSmallPieceBytes)
            append(kZeros, now);
        else
            push_piece(kZeros, now);
        bytes -= now;
    }
}

std::byte* PartWriter::room_in_bounce(uint64_t bytes) {
    if (bounce_.empty()) bounce_.resize(kBounceBytes);
    if (bounce_used_ + bytes > kBounceBytes) write_out();
    std::byte* room = bounce_.data() + bounce_used_;
    bounce_used_ += bytes;
    return room;
}

void PartWriter::push_piece(const void* data, uint64_t bytes) {
    auto* from = static_cast<std::byte*>(const_cast<void*>(data));
    if (!pieces_.empty() && static_cast<std::byte*>(pieces_.back().iov_base) + pieces_.back().iov_len == from)
        pieces_.back().iov_len += bytes;
    else
        pieces_.push_back({from, bytes});
    gathered_ += bytes;
    end_ += bytes;
    highest_ = std::max(highest_, end_);
    if (gathered_ >= call_bytes_ || pieces_.size() == kMaxPieces) write_out();
}

void PartWriter::write_out() {
    if (gathered_ > 0) {
        if (checksum_)
            for (const iovec& piece : pieces_) sum_.add(piece.iov_base, piece.iov_len);
        file_.write_at(end_ - gathered_, pieces_);
        bytes_ += gathered_;
        ++write_calls_;
    }
    pieces_.clear();
    gathered_ = 0;
    bounce_used_ = 0;
}

void PartWriter::end_extent() {
    if (checksum_ && end_ != extent_) {
        records_.push_back({extent_, end_ - extent_, sum_.value()});
        sum_.reset();
    }
    extent_ = end_;
}

void PartWriter::flush() {
    write_out();
    end_extent();
}

}  // namespace tailrace
