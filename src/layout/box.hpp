// A box: a hyperslab of an array, and the contiguous runs of elements that it is in the array's file order (C order).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layout/extents.hpp"

namespace tailrace {

inline uint64_t volume(const Extents& count) {
    uint64_t elements = 1;
    for (const uint64_t n : count) elements *= n;
    return elements;
}

struct Box {
    Extents offset;
    Extents count;
    uint64_t elements() const { return volume(count); }
    bool operator==(const Box&) const = default;
};

std::string describe(const Box& box);  // "[0:10, 5:20]"
Box whole_box(const Extents& shape);
bool overlap(const Box& a, const Box& b);
Box within(const Box& outer, Box inner);  // the inner box with offsets from the outer one's first element

// The runs of a box in an array of `shape`, in file order, by random access: no list is kept.
class Runs {
public:
    Runs(const Extents& shape, const Box& box);

    uint64_t count() const { return count_; }
    uint64_t length() const { return length_; }  // elements in each run; all are equal
    uint64_t begin(uint64_t run) const;          // position of its first element in the array
    // The index within the box (as if dense) of the run's first element is run * length().
    // Runs that touch positions [lo, hi): [first, last). The first and the last may stick out and are to be cut.
    std::pair<uint64_t, uint64_t> touching(uint64_t lo, uint64_t hi) const;
    // Elements of the box in [lo, hi).
    uint64_t elements_within(uint64_t lo, uint64_t hi) const;
    // The box-local index of each outer dimension of a run, slowest first (for strided memory).
    int outer_dims() const { return outer_; }
    void outer_index(uint64_t run, uint64_t* index) const;

private:
    uint64_t first_run_ending_after(uint64_t position) const;
    int outer_ = 0;                              // dimensions that are not inside a run
    std::array<uint64_t, kMaxDims> count_of_{};  // extents of the outer dimensions of the box
    std::array<uint64_t, kMaxDims> pitch_{};     // elements of the array from one index of an outer dimension to the next
    uint64_t base_ = 0;
    uint64_t count_ = 0;
    uint64_t length_ = 0;
};

}  // namespace tailrace
