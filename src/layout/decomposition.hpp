// A regular decomposition: an array cut by a grid into one block a rank, ranks in C order of the grid. All by formula.
#pragma once

#include <cstdint>

#include "layout/box.hpp"
#include "layout/topology.hpp"

namespace tailrace {

class Decomposition {
public:
    // `grid`: blocks along each dimension, as many numbers as the shape has. Remainders are spread evenly; where there are more
    // blocks than elements some blocks are empty.
    Decomposition(Extents shape, Extents grid) : shape_(std::move(shape)), grid_(std::move(grid)) {}

    const Extents& shape() const { return shape_; }
    const Extents& grid() const { return grid_; }
    uint64_t ranks() const { return volume(grid_); }
    uint64_t elements() const { return volume(shape_); }

    Box block(uint64_t rank) const;
    uint64_t elements_of(uint64_t rank) const { return elements_before(rank + 1) - elements_before(rank); }
    // Elements of the blocks of ranks 0 .. rank - 1 together; rank = ranks() gives all.
    uint64_t elements_before(uint64_t rank) const;

    // Calls see(rank, elements of its block inside the box) for each rank that has some, in ascending order.
    template <class See>
    void for_each_rank(const Box& box, See see) const {
        if (box.elements() > 0) visit(box, 0, 0, 1, see);
    }

    bool operator==(const Decomposition&) const = default;

private:
    template <class See>
    void visit(const Box& box, size_t d, uint64_t rank, uint64_t elements, See& see) const {
        if (d == shape_.size()) {
            see(rank, elements);
            return;
        }
        const uint64_t begin = box.offset[d], end = begin + box.count[d];
        for (uint64_t at = share_of(shape_[d], grid_[d], begin); at < grid_[d]; ++at) {
            const uint64_t from = share_begin(shape_[d], grid_[d], at), to = share_begin(shape_[d], grid_[d], at + 1);
            if (from >= end) return;
            const uint64_t lo = from > begin ? from : begin, hi = to < end ? to : end;
            if (lo < hi) visit(box, d + 1, rank * grid_[d] + at, elements * (hi - lo), see);
        }
    }
    Extents shape_, grid_;
};

// A grid of `ranks` blocks that are as near to cubes as the factors of `ranks` allow: each factor, from the largest, goes to the
// dimension whose blocks are longest (the slowest of equals).
Extents choose_grid(uint64_t ranks, const Extents& shape);

}  // namespace tailrace
