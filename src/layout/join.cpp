#include "layout/join.hpp"

#include <algorithm>
#include <compare>

namespace tailrace {
namespace {

Box hull(const std::vector<Box>& boxes) {
    Box result = boxes.front();
    for (const Box& box : boxes)
        for (size_t d = 0; d < box.count.size(); ++d) {
            const uint64_t end = std::max(result.offset[d] + result.count[d], box.offset[d] + box.count[d]);
            result.offset[d] = std::min(result.offset[d], box.offset[d]);
            result.count[d] = end - result.offset[d];
        }
    return result;
}

// Orders boxes so that those which differ only along dimension d are consecutive, ascending along it.
std::strong_ordering compare_along(const Box& a, const Box& b, size_t d) {
    for (size_t other = 0; other < a.offset.size(); ++other) {
        if (other == d) continue;
        if (const auto order = a.offset[other] <=> b.offset[other]; order != 0) return order;
        if (const auto order = a.count[other] <=> b.count[other]; order != 0) return order;
    }
    return a.offset[d] <=> b.offset[d];
}

bool alike_but_along(const Box& a, const Box& b, size_t d) {
    for (size_t other = 0; other < a.offset.size(); ++other)
        if (other != d && (a.offset[other] != b.offset[other] || a.count[other] != b.count[other])) return false;
    return true;
}

void join_along(std::vector<Box>& boxes, size_t d) {
    std::sort(boxes.begin(), boxes.end(), [d](const Box& a, const Box& b) { return compare_along(a, b, d) < 0; });
    size_t kept = 0;
    for (size_t i = 1; i < boxes.size(); ++i)
        if (Box& last = boxes[kept]; alike_but_along(last, boxes[i], d) && last.offset[d] + last.count[d] == boxes[i].offset[d])
            last.count[d] += boxes[i].count[d];
        else if (++kept != i)
            boxes[kept] = std::move(boxes[i]);
    boxes.resize(kept + 1);
}

}  // namespace

std::vector<Box> join_blocks(std::vector<Box> blocks) {
    if (blocks.size() < 2) return blocks;
    uint64_t elements = 0;
    for (const Box& block : blocks) elements += block.elements();
    if (Box around = hull(blocks); around.elements() == elements) return {std::move(around)};
    // Joins along the fastest dimension first: blocks to rows, then rows to planes.
    for (size_t d = blocks.front().offset.size(); d-- > 0;) join_along(blocks, d);
    std::sort(blocks.begin(), blocks.end(), [](const Box& a, const Box& b) { return a.offset < b.offset; });
    return blocks;
}

}  // namespace tailrace
