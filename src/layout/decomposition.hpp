// A regular decomposition: a grid cuts an array into one block for each rank, ranks in C order of the grid. No list of blocks is
// kept.
#pragma once

#include <cstdint>

#include "layout/box.hpp"
#include "layout/topology.hpp"

namespace tailrace {

class Decomposition {
public:
    // `grid`: blocks along each dimension, as many numbers as the shape has. Remainders are spread evenly; where there are more
    // blocks than elements some blocks are empty.
    Decomposition(Shape shape, Shape grid) : shape_(std::move(shape)), grid_(std::move(grid)) {}

    const Shape& shape() const { return shape_; }
    const Shape& grid() const { return grid_; }
    uint64_t ranks() const { return volume(grid_); }
    uint64_t elements() const { return volume(shape_); }

    Box block(uint64_t rank) const;
    uint64_t elements_of(uint64_t rank) const { return elements_before(rank + 1) - elements_before(rank); }
    // Elements of the blocks of ranks 0 .. rank - 1 together; rank = ranks() gives all.
    uint64_t elements_before(uint64_t rank) const;

    // Calls use(rank, elements of its block inside the box) for each rank with elements there, in ascending order.
    template <class Use>
    void for_each_rank(const Box& box, Use use) const {
        if (box.elements() > 0) visit(box, 0, 0, 1, use);
    }

    bool operator==(const Decomposition&) const = default;

private:
    template <class Use>
    void visit(const Box& box, size_t d, uint64_t rank, uint64_t elements, Use& use) const {
        if (d == shape_.size()) {
            use(rank, elements);
            return;
        }
        const uint64_t begin = box.offset[d], end = begin + box.count[d];
        for (uint64_t at = split_index(shape_[d], grid_[d], begin); at < grid_[d]; ++at) {
            const uint64_t from = split_begin(shape_[d], grid_[d], at), to = split_begin(shape_[d], grid_[d], at + 1);
            if (from >= end) return;
            const uint64_t lo = from > begin ? from : begin, hi = to < end ? to : end;
            if (lo < hi) visit(box, d + 1, rank * grid_[d] + at, elements * (hi - lo), use);
        }
    }
    Shape shape_, grid_;
};

// A grid of `ranks` blocks, as near to cubes as the factors of `ranks` allow. Each factor, from the largest on, divides the
// dimension whose blocks are longest (the slowest of equals).
Shape choose_grid(uint64_t ranks, const Shape& shape);

}  // namespace tailrace
