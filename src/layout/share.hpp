// A share: a range of an array's elements in file order (C order), as a checker or a writer owns it; and the boxes that it is
// made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layout/box.hpp"
#include "layout/topology.hpp"

namespace tailrace {

// The positions [lo, hi) of an array of `shape` as disjoint boxes in file order; at most 2 * dimensions - 1 of them.
std::vector<Box> share_boxes(const Extents& shape, uint64_t lo, uint64_t hi);

// The elements of the box `runs` (of an array of `elements`) in each of `shares` equal shares of the array: calls take(share,
// elements) in ascending order, at most twice for each line of runs and once more for each share that it touches.
template <class Take>
void for_each_share(const Runs& runs, uint64_t runs_in_line, uint64_t elements, uint64_t shares, Take take) {
    uint64_t share = 0, share_end = 0;
    const uint64_t length = runs.length(), pitch = runs_in_line > 1 ? runs.begin(1) - runs.begin(0) : length;
    for (uint64_t line = 0; line < runs.count(); line += runs_in_line) {
        const uint64_t line_begin = runs.begin(line);
        for (uint64_t run = 0, done = 0; run < runs_in_line;) {  // `done` elements of the run are dealt with
            const uint64_t begin = line_begin + run * pitch;
            if (begin + done >= share_end) {
                share = share_of(elements, shares, begin + done);
                share_end = share_begin(elements, shares, share + 1);
            }
            if (begin + length > share_end) {
                take(share, share_end - begin - done);
                done = share_end - begin;
                continue;
            }
            const uint64_t whole = std::min((share_end - begin - length) / pitch + 1, runs_in_line - run);
            take(share, whole * length - done);
            run += whole;
            done = 0;
        }
    }
}

// What two boxes have in common; without elements when they are apart.
Box intersection(const Box& a, const Box& b);

}  // namespace tailrace
