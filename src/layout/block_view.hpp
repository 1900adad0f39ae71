// Where a block's elements are in this rank's memory. Strides are arbitrary, so users need not copy halos and array
// sections.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "layout/box.hpp"

namespace tailrace {

class BlockView {
public:
    BlockView() = default;
    // `stride` in bytes, empty: dense in C order.
    BlockView(const void* data, uint64_t element_bytes, const Shape& count, const std::vector<int64_t>& stride)
        : data_(static_cast<const std::byte*>(data)), element_(element_bytes), count_(count), stride_(stride) {
        // Inner dimensions that are dense in memory make one span.
        span_ = 1;
        outer_ = static_cast<int>(count.size());
        while (outer_ > 0 &&
               (stride.empty() || count[outer_ - 1] == 1 || stride[outer_ - 1] == static_cast<int64_t>(span_ * element_)))
            span_ *= count[--outer_];
    }

    uint64_t element_bytes() const { return element_; }
    const std::byte* first() const { return data_; }
    const Shape& count() const { return count_; }
    // Bytes from one element to the next along a dimension.
    int64_t stride_bytes(size_t dim) const {
        if (!stride_.empty()) return stride_[dim];
        auto pitch = static_cast<int64_t>(element_);
        for (size_t d = count_.size(); d-- > dim + 1;) pitch *= static_cast<int64_t>(count_[d]);
        return pitch;
    }
    // The first element if all are dense in memory, else null.
    const std::byte* dense() const { return outer_ == 0 ? data_ : nullptr; }
    uint64_t span_bytes() const { return span_ * element_; }  // bytes that are contiguous in memory

    // Calls use(pointer, bytes) for the spans of elements [begin, begin + n), counted in C order within the block.
    template <class Use>
    void for_spans(uint64_t begin, uint64_t n, Use&& use) const {
        while (n > 0) {
            const uint64_t within = begin % span_;
            const uint64_t take = std::min(n, span_ - within);
            use(at(begin / span_) + within * element_, take * element_);
            begin += take;
            n -= take;
        }
    }

    void copy_out(uint64_t begin, uint64_t n, std::byte* to) const {
        if (span_ == 1 && outer_ > 0) return copy_single_elements(begin, n, to);
        for_spans(begin, n, [&](const std::byte* from, uint64_t bytes) {
            std::memcpy(to, from, bytes);
            to += bytes;
        });
    }

    // Copies dense bytes to elements [begin, begin + n) of the block. The caller must be allowed to write to the block's memory.
    void copy_in(uint64_t begin, uint64_t n, const std::byte* from) const {
        for_spans(begin, n, [&](const std::byte* to, uint64_t bytes) {
            std::memcpy(const_cast<std::byte*>(to), from, bytes);
            from += bytes;
        });
    }

    // The elements of `box` (within the block), as a block of its own.
    BlockView part(const Box& box) const {
        std::vector<int64_t> stride = stride_;
        if (stride.empty()) {
            stride.resize(count_.size());
            for (size_t d = 0; d < count_.size(); ++d) stride[d] = stride_bytes(d);
        }
        const std::byte* first = data_;
        for (size_t d = 0; d < count_.size(); ++d) first += static_cast<int64_t>(box.offset[d]) * stride[d];
        return {first, element_, box.count, stride};
    }

private:
    const std::byte* at(uint64_t span) const {
        const std::byte* place = data_;
        for (int d = outer_ - 1; d >= 0; --d) {
            place += static_cast<int64_t>(span % count_[d]) * stride_[d];
            span /= count_[d];
        }
        return place;
    }
    // For elements that are apart in memory: walks the innermost stride without division.
    void copy_single_elements(uint64_t begin, uint64_t n, std::byte* to) const {
        const uint64_t row = count_[outer_ - 1];
        const int64_t step = stride_[outer_ - 1];
        while (n > 0) {
            const uint64_t take = std::min(n, row - begin % row);
            const std::byte* from = at(begin);
            switch (element_) {
                case 1: spread<1>(to, from, step, take); break;
                case 2: spread<2>(to, from, step, take); break;
                case 4: spread<4>(to, from, step, take); break;
                default: spread<8>(to, from, step, take); break;
            }
            to += take * element_;
            begin += take;
            n -= take;
        }
    }

    // A constant size lets the compiler copy an element in one instruction.
    template <uint64_t Bytes>
    static void spread(std::byte* to, const std::byte* from, int64_t step, uint64_t n) {
        for (uint64_t i = 0; i < n; ++i, to += Bytes, from += step) std::memcpy(to, from, Bytes);
    }

    const std::byte* data_ = nullptr;
    uint64_t element_ = 1, span_ = 1;
    int outer_ = 0;
    Shape count_;
    std::vector<int64_t> stride_;
};

}  // namespace tailrace
