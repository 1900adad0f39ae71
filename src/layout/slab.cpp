#include "layout/slab.hpp"

#include <algorithm>

namespace tailrace {
namespace {

// Cuts positions [lo, hi) of a sub-array into boxes. `prefix` fixes the dimensions before d to one index each.
void cut(const Shape& shape, size_t d, Box prefix, uint64_t lo, uint64_t hi, std::vector<Box>& boxes) {
    if (lo >= hi) return;
    uint64_t row = 1;  // elements at one index of dimension d
    for (size_t inner = d + 1; inner < shape.size(); ++inner) row *= shape[inner];
    const auto one_row = [&](uint64_t index, uint64_t from, uint64_t to) {
        Box deeper = prefix;
        deeper.offset[d] = index;
        deeper.count[d] = 1;
        cut(shape, d + 1, std::move(deeper), from, to, boxes);
    };
    if (d == shape.size()) {
        boxes.push_back(std::move(prefix));
        return;
    }
    if (lo % row != 0 && lo / row == (hi - 1) / row) return one_row(lo / row, lo % row, (hi - 1) % row + 1);
    if (lo % row != 0) one_row(lo / row, lo % row, row);
    const uint64_t first = (lo + row - 1) / row, last = hi / row;
    if (first < last) {
        Box whole_rows = prefix;
        whole_rows.offset[d] = first;
        whole_rows.count[d] = last - first;
        boxes.push_back(std::move(whole_rows));
    }
    if (hi % row != 0) one_row(last, 0, hi % row);
}

}  // namespace

std::vector<Box> slab_boxes(const Shape& shape, uint64_t lo, uint64_t hi) {
    std::vector<Box> boxes;
    cut(shape, 0, whole_box(shape), lo, hi, boxes);
    return boxes;
}

Box intersection(const Box& a, const Box& b) {
    Box common{a.offset, a.count};
    for (size_t d = 0; d < a.count.size(); ++d) {
        const uint64_t begin = std::max(a.offset[d], b.offset[d]);
        const uint64_t end = std::min(a.offset[d] + a.count[d], b.offset[d] + b.count[d]);
        common.offset[d] = begin;
        common.count[d] = end > begin ? end - begin : 0;
    }
    return common;
}

}  // namespace tailrace
