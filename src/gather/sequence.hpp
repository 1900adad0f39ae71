// A writer's sequence: its slabs of all exchanged arrays, one after the other, as one sequence of bytes that is cut into equal
// pieces. Senders and writer compute the same sequence from the plan, so the number of a piece identifies its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/box.hpp"
#include "layout/topology.hpp"

namespace tailrace {

// An array that is exchanged, and its slab at one writer.
struct SlabArray {
    Shape shape;
    uint64_t element_bytes = 1;
    uint64_t lo = 0, hi = 0;  // elements of the array, in file order
    uint64_t position = 0;    // of element lo in the sequence, in bytes
    uint64_t end() const { return position + (hi - lo) * element_bytes; }
};

class Sequence {
public:
    // The elements [lo, hi) of an array.
    void add(const Shape& shape, uint64_t element_bytes, uint64_t lo, uint64_t hi) {
        // Arrays and pieces begin at multiples of the largest element, so that no element lies in two pieces.
        arrays_.push_back({shape, element_bytes, lo, hi, (total_bytes() + 7) / 8 * 8});
    }
    const std::vector<SlabArray>& arrays() const { return arrays_; }
    uint64_t total_bytes() const { return arrays_.empty() ? 0 : arrays_.back().end(); }
    uint64_t pieces(uint64_t piece_bytes) const { return (total_bytes() + piece_bytes - 1) / piece_bytes; }
    // The first array that ends after a position.
    size_t array_at(uint64_t position) const;

private:
    std::vector<SlabArray> arrays_;
};

// A block of a rank in a sequence. Lists of them are ordered by array, then as the rank's blocks are.
struct RankBlock {
    size_t array = 0;
    size_t block = 0;  // the rank's own number of it
    Spans spans;
};

// The number of bytes that a rank has in a piece.
struct PieceBytes {
    uint64_t piece = 0;
    uint64_t bytes = 0;
};

// The pieces that a rank's blocks touch, ascending. Costs blocks x pieces touched.
std::vector<PieceBytes> pieces_of(const Sequence& sequence, const std::vector<RankBlock>& blocks, uint64_t piece_bytes);

// Calls use(block, first element within the block, elements, position in the sequence) for all bytes that the blocks have in
// [from, to) of the sequence: array by array, block by block, ascending within a block. Sender and writer rely on this order.
template <class Use>
void for_bytes(const Sequence& sequence, const std::vector<RankBlock>& blocks, uint64_t from, uint64_t to, Use&& use) {
    for (const RankBlock& block : blocks) {
        const SlabArray& array = sequence.arrays()[block.array];
        if (array.end() <= from || array.position >= to) continue;
        const uint64_t lo = array.lo + (from > array.position ? (from - array.position) / array.element_bytes : 0);
        const uint64_t hi = to < array.end() ? array.lo + (to - array.position) / array.element_bytes : array.hi;
        const auto [first, last] = block.spans.touching(lo, hi);
        for (uint64_t span = first; span < last; ++span) {
            const uint64_t begin = block.spans.begin(span);
            const uint64_t a = begin < lo ? lo : begin, b = begin + block.spans.length() > hi ? hi : begin + block.spans.length();
            use(block, span * block.spans.length() + (a - begin), b - a, array.position + (a - array.lo) * array.element_bytes);
        }
    }
}

}  // namespace tailrace
