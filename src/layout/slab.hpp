// A slab: a contiguous range of an array's elements in file order (C order) that one checker or writer is responsible for. The
// functions compute its boxes, and the elements of a box in each slab.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/box.hpp"
#include "layout/topology.hpp"

namespace tailrace {

// The positions [lo, hi) of an array of `shape` as disjoint boxes in file order; at most 2 * dimensions - 1 of them.
std::vector<Box> slab_boxes(const Shape& shape, uint64_t lo, uint64_t hi);

// The elements of the box `spans` (of an array of `elements`) in each of `slabs` equal slabs of the array. Calls take(slab,
// elements) in ascending order: at most twice for each line of spans, and once more for each slab that it touches.
template <class Take>
void for_each_slab(const Spans& spans, uint64_t spans_in_line, uint64_t elements, uint64_t slabs, Take take) {
    uint64_t slab = 0, slab_end = 0;
    const uint64_t length = spans.length(), pitch = spans_in_line > 1 ? spans.begin(1) - spans.begin(0) : length;
    for (uint64_t line = 0; line < spans.count(); line += spans_in_line) {
        const uint64_t line_begin = spans.begin(line);
        for (uint64_t span = 0, done = 0; span < spans_in_line;) {  // `done` elements of the span are passed to take() already
            const uint64_t begin = line_begin + span * pitch;
            if (begin + done >= slab_end) {
                slab = split_index(elements, slabs, begin + done);
                slab_end = split_begin(elements, slabs, slab + 1);
            }
            if (begin + length > slab_end) {
                take(slab, slab_end - begin - done);
                done = slab_end - begin;
                continue;
            }
            const uint64_t whole = std::min((slab_end - begin - length) / pitch + 1, spans_in_line - span);
            take(slab, whole * length - done);
            span += whole;
            done = 0;
        }
    }
}

// The box of the elements that two boxes have in common; it is empty if they do not overlap.
Box intersection(const Box& a, const Box& b);

}  // namespace tailrace
