#include "gather/sequence.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tailrace {
namespace {

// Some arrays, cut among writers, and the blocks that one rank has of them.
class SequenceTest : public testing::Test {
protected:
    uint64_t between(uint64_t lo, uint64_t hi) { return std::uniform_int_distribution<uint64_t>(lo, hi)(engine_); }

    void make() {
        writers_ = between(1, 5);
        arrays_.clear();
        blocks_.clear();
        for (size_t a = 0, n = between(1, 4); a < n; ++a) {
            Shape shape(between(1, 3));
            for (uint64_t& extent : shape) extent = between(1, 7);
            arrays_.push_back({shape, 1u << between(0, 3)});
            for (size_t b = 0, blocks = between(0, 3); b < blocks; ++b) blocks_.push_back({a, b, Spans(shape, box_in(shape))});
        }
    }
    Sequence sequence_of(uint64_t writer) const {
        Sequence sequence;
        for (const auto& [shape, bytes] : arrays_)
            sequence.add(shape, bytes, split_begin(volume(shape), writers_, writer),
                         split_begin(volume(shape), writers_, writer + 1));
        return sequence;
    }
    Box box_in(const Shape& shape) {
        Box box{shape, shape};
        for (size_t d = 0; d < shape.size(); ++d) {
            box.offset[d] = between(0, shape[d] - 1);
            box.count[d] = between(1, shape[d] - box.offset[d]);
        }
        return box;
    }

    uint64_t writers_ = 1;
    std::vector<std::pair<Shape, uint64_t>> arrays_;
    std::vector<RankBlock> blocks_;

private:
    std::mt19937_64 engine_{31};
};

TEST_F(SequenceTest, WritersShareEachArrayWithoutGapOrOverlap) {
    for (int round = 0; round < 300; ++round) {
        make();
        for (size_t a = 0; a < arrays_.size(); ++a) {
            uint64_t next = 0;
            for (uint64_t k = 0; k < writers_; ++k) {
                const Sequence sequence = sequence_of(k);
                const SlabArray& array = sequence.arrays()[a];
                ASSERT_EQ(array.lo, next);
                ASSERT_EQ(array.position % 8, 0u) << "no element is cut by the edge of a piece";
                next = array.hi;
            }
            ASSERT_EQ(next, volume(arrays_[a].first));
        }
    }
}

TEST_F(SequenceTest, EveryElementOfEveryBlockIsSentOnceToItsPlace) {
    for (int round = 0; round < 1500; ++round) {
        make();
        // (block, element within it) -> how often, over all writers and pieces
        std::map<std::pair<size_t, uint64_t>, int> sent;
        const uint64_t piece_bytes = 8 * between(1, 9);
        for (uint64_t k = 0; k < writers_; ++k) {
            const Sequence sequence = sequence_of(k);
            std::map<uint64_t, uint64_t> bytes_of;  // by piece
            for (uint64_t piece = 0; piece < sequence.pieces(piece_bytes); ++piece) {
                const uint64_t from = piece * piece_bytes, to = std::min(from + piece_bytes, sequence.total_bytes());
                for_bytes(sequence, blocks_, from, to,
                          [&](const RankBlock& block, uint64_t element, uint64_t elements, uint64_t position) {
                              const SlabArray& array = sequence.arrays()[block.array];
                              ASSERT_GE(position, from);
                              ASSERT_LE(position + elements * array.element_bytes, to);
                              for (uint64_t i = 0; i < elements; ++i) {
                                  const uint64_t within = element + i, span = within / block.spans.length();
                                  const uint64_t in_array = block.spans.begin(span) + within % block.spans.length();
                                  ASSERT_EQ(position + i * array.element_bytes,
                                            array.position + (in_array - array.lo) * array.element_bytes);
                                  ++sent[{static_cast<size_t>(&block - blocks_.data()), within}];
                              }
                              bytes_of[piece] += elements * array.element_bytes;
                          });
            }
            std::map<uint64_t, uint64_t> pieces;
            for (const PieceBytes& mine : pieces_of(sequence, blocks_, piece_bytes)) pieces[mine.piece] = mine.bytes;
            ASSERT_EQ(pieces, bytes_of) << "what a rank says it has in a piece is what it sends";
        }
        size_t elements = 0;
        for (const RankBlock& block : blocks_) elements += block.spans.count() * block.spans.length();
        ASSERT_EQ(sent.size(), elements);
        for (const auto& [element, times] : sent) ASSERT_EQ(times, 1);
    }
}

TEST_F(SequenceTest, ArrayAtIsTheFirstThatEndsBehindAPosition) {
    for (int round = 0; round < 300; ++round) {
        make();
        const Sequence sequence = sequence_of(between(0, writers_ - 1));
        for (uint64_t position = 0; position < sequence.total_bytes() + 3; ++position) {
            size_t expected = 0;
            while (expected < sequence.arrays().size() && sequence.arrays()[expected].end() <= position) ++expected;
            ASSERT_EQ(sequence.array_at(position), expected);
        }
    }
}

}  // namespace
}  // namespace tailrace
