// A box: a hyperslab of an array; and its spans, the elements that are contiguous in the array's file order (C order).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layout/shape.hpp"

namespace tailrace {

inline uint64_t volume(const Shape& count) {
    uint64_t elements = 1;
    for (const uint64_t n : count) elements *= n;
    return elements;
}

struct Box {
    Shape offset;
    Shape count;
    uint64_t elements() const { return volume(count); }
    bool operator==(const Box&) const = default;
};

std::string describe(const Box& box);  // "[0:10, 5:20]"
Box whole_box(const Shape& shape);
bool overlap(const Box& a, const Box& b);
Box within(const Box& outer, Box inner);  // the inner box, with offsets relative to the outer one

// The spans of a box in an array of `shape`, in file order. Each is computed on request: no list is kept.
class Spans {
public:
    Spans(const Shape& shape, const Box& box);

    uint64_t count() const { return count_; }
    uint64_t length() const { return length_; }  // elements in each span; all are equal
    uint64_t begin(uint64_t span) const;         // position of its first element in the array
    // The spans that have elements at positions [lo, hi) of the array, as numbers [first, last). The first and the last one may
    // also have elements outside of these positions. Span i begins with element i * length() of the box, counted in C order.
    std::pair<uint64_t, uint64_t> touching(uint64_t lo, uint64_t hi) const;
    // The number of the box's elements in [lo, hi).
    uint64_t elements_within(uint64_t lo, uint64_t hi) const;
    // A span's index within the box along each outer dimension, slowest first (for strided memory).
    int outer_dims() const { return outer_; }
    void outer_index(uint64_t span, uint64_t* index) const;

private:
    uint64_t first_span_ending_after(uint64_t position) const;
    int outer_ = 0;                              // dimensions that are not inside a span
    std::array<uint64_t, kMaxDims> count_of_{};  // lengths of the outer dimensions of the box
    std::array<uint64_t, kMaxDims> pitch_{};     // elements of the array from one index of an outer dimension to the next
    uint64_t base_ = 0;
    uint64_t count_ = 0;
    uint64_t length_ = 0;
};

}  // namespace tailrace
