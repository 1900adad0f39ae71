#include "format/global_heap.hpp"

namespace tailrace::format {
namespace {

constexpr uint64_t kHeadBytes = 16, kObjectHeadBytes = 16;
constexpr uint64_t kLeastCollectionBytes = 4096;  // HDF5 first reads so many
constexpr uint32_t kMostObjects = 65535;

}  // namespace

GlobalHeap::Place GlobalHeap::add(std::span<const std::byte> object) {
    const uint64_t padded = (object.size() + 7) / 8 * 8;
    if (number_ == kMostObjects || (number_ > 0 && out_.size() - begin_ + kObjectHeadBytes + padded > collection_bytes_)) close();
    if (number_ == 0) {
        begin_ = out_.size();
        out_.put_text("GCOL");
        out_.put(uint32_t{1});  // version
        out_.put(uint64_t{0});  // its size, filled in by close()
    }
    out_.put(static_cast<uint16_t>(++number_));
    out_.put_zeros(6);  // the reference count, which is not used; reserved
    out_.put(static_cast<uint64_t>(object.size()));
    const uint64_t at = out_.size();
    out_.put_bytes(object);
    out_.put_zeros(padded - object.size());
    return {begin_, number_, at};
}

void GlobalHeap::close() {
    const uint64_t used = out_.size() - begin_;
    if (used < kLeastCollectionBytes) {
        const uint64_t free = kLeastCollectionBytes - used;  // a multiple of 8
        if (free >= kObjectHeadBytes) {
            out_.put_zeros(8);  // object 0: free space
            out_.put(free);
            out_.put_zeros(free - kObjectHeadBytes);
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
