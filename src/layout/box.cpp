#include "layout/box.hpp"

#include <algorithm>

#include "layout/notation.hpp"

namespace tailrace {

std::string describe(const Box& box) { return range_text(box.offset, box.count); }

Box whole_box(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }

bool overlap(const Box& a, const Box& b) {
    for (size_t d = 0; d < a.count.size(); ++d)
        if (a.offset[d] + a.count[d] <= b.offset[d] || b.offset[d] + b.count[d] <= a.offset[d]) return false;
    return a.elements() > 0 && b.elements() > 0;
}

Box within(const Box& outer, Box inner) {
    for (size_t d = 0; d < inner.offset.size(); ++d) inner.offset[d] -= outer.offset[d];
    return inner;
}

Spans::Spans(const Shape& shape, const Box& box) {
    const int dims = static_cast<int>(shape.size());
    if (box.elements() == 0) return;
    // A span covers the trailing dimensions of which the box has all, and the box's part of the dimension before them.
    int inner = dims;
    length_ = 1;
    while (inner > 0) {
        --inner;
        length_ *= box.count[inner];
        if (box.count[inner] != shape[inner]) break;
    }
    outer_ = dims == 0 ? 0 : inner;
    if (dims == 0) length_ = 1;
    uint64_t pitch = 1;
    for (int d = dims - 1; d >= 0; --d) {
        base_ += box.offset[d] * pitch;
        if (d < outer_) {
            count_of_[d] = box.count[d];
            pitch_[d] = pitch;
        }
        pitch *= shape[d];
    }
    count_ = 1;
    for (int d = 0; d < outer_; ++d) count_ *= count_of_[d];
}

void Spans::outer_index(uint64_t span, uint64_t* index) const {
    for (int d = outer_ - 1; d >= 0; --d) {
        index[d] = span % count_of_[d];
        span /= count_of_[d];
    }
}

uint64_t Spans::begin(uint64_t span) const {
    uint64_t position = base_;
    for (int d = outer_ - 1; d >= 0; --d) {
        position += span % count_of_[d] * pitch_[d];
        span /= count_of_[d];
    }
    return position;
}

uint64_t Spans::first_span_ending_after(uint64_t position) const {
    uint64_t lo = 0, hi = count_;
    while (lo < hi) {
        const uint64_t middle = lo + (hi - lo) / 2;
        if (begin(middle) + length_ > position)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

std::pair<uint64_t, uint64_t> Spans::touching(uint64_t lo, uint64_t hi) const {
    if (count_ == 0 || lo >= hi) return {0, 0};
    const uint64_t first = first_span_ending_after(lo);
    uint64_t last = first_span_ending_after(hi - 1);
    if (last < count_ && begin(last) < hi) ++last;
    return {first, std::max(first, last)};
}

uint64_t Spans::elements_within(uint64_t lo, uint64_t hi) const {
    const auto [first, last] = touching(lo, hi);
    if (first == last) return 0;
    uint64_t elements = (last - first) * length_;
    const uint64_t begin_first = begin(first), end_last = begin(last - 1) + length_;
    if (begin_first < lo) elements -= lo - begin_first;
    if (end_last > hi) elements -= end_last - hi;
    return elements;
}

}  // namespace tailrace
