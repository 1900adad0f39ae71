#include "format/global_heap.hpp"

namespace tailrace::format {
namespace {

constexpr uint64_t kHeadBytes = 16, kPieceHeadBytes = 16;
constexpr uint64_t kLeastCollectionBytes = 4096;  // HDF5 reads so many at first
constexpr uint32_t kMostPieces = 65535;

}  // namespace

GlobalHeap::Place GlobalHeap::add(std::span<const std::byte> piece) {
    const uint64_t padded = (piece.size() + 7) / 8 * 8;
    if (number_ == kMostPieces || (number_ > 0 && out_.size() - begin_ + kPieceHeadBytes + padded > collection_bytes_)) close();
    if (number_ == 0) {
        begin_ = out_.size();
        out_.put_text("GCOL");
        out_.put(uint32_t{1});  // version
        out_.put(uint64_t{0});  // its size, once it is known
    }
    out_.put(static_cast<uint16_t>(++number_));
    out_.put_zeros(6);  // nobody counts who uses it
    out_.put(static_cast<uint64_t>(piece.size()));
    const uint64_t at = out_.size();
    out_.put_bytes(piece);
    out_.put_zeros(padded - piece.size());
    return {begin_, number_, at};
}

void GlobalHeap::close() {
    const uint64_t used = out_.size() - begin_;
    if (used < kLeastCollectionBytes) {
        const uint64_t free = kLeastCollectionBytes - used;  // a multiple of 8
        if (free >= kPieceHeadBytes) {
            out_.put_zeros(8);  // number 0: what is free
            out_.put(free);
            out_.put_zeros(free - kPieceHeadBytes);
        } else {
            out_.put_zeros(free);
        }
    }
    out_.set(begin_ + kHeadBytes - sizeof(uint64_t), out_.size() - begin_);
    number_ = 0;
}

void GlobalHeap::end() {
    if (number_ > 0) close();
}

}  // namespace tailrace::format
