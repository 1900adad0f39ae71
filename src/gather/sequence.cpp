#include "gather/sequence.hpp"

#include <algorithm>
#include <map>

namespace tailrace {

size_t Sequence::array_at(uint64_t position) const {
    return static_cast<size_t>(std::upper_bound(arrays_.begin(), arrays_.end(), position,
                                                [](uint64_t at, const SlabArray& array) { return at < array.end(); }) -
                               arrays_.begin());
}

std::vector<PieceBytes> pieces_of(const Sequence& sequence, const std::vector<RankBlock>& blocks, uint64_t piece_bytes) {
    std::map<uint64_t, uint64_t> bytes_of;
    for (const RankBlock& block : blocks) {
        const SlabArray& array = sequence.arrays()[block.array];
        const auto [first, last] = block.spans.touching(array.lo, array.hi);
        if (first == last) continue;
        const auto position = [&](uint64_t element) {
            return array.position + (std::clamp(element, array.lo, array.hi) - array.lo) * array.element_bytes;
        };
        const uint64_t begin = position(block.spans.begin(first));
        const uint64_t end = position(block.spans.begin(last - 1) + block.spans.length());
        for (uint64_t piece = begin / piece_bytes; piece * piece_bytes < end; ++piece) {
            const uint64_t from = std::max(piece * piece_bytes, array.position),
                           to = std::min((piece + 1) * piece_bytes, array.end());
            const uint64_t lo = array.lo + (from - array.position) / array.element_bytes;
            const uint64_t hi = array.lo + (to - array.position) / array.element_bytes;
            const uint64_t elements = block.spans.elements_within(lo, hi);
            if (elements > 0) bytes_of[piece] += elements * array.element_bytes;
        }
    }
    std::vector<PieceBytes> pieces;
    for (const auto& [piece, bytes] : bytes_of) pieces.push_back({piece, bytes});
    return pieces;
}

}  // namespace tailrace
