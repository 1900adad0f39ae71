#include "layout/part_boxes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "layout/join.hpp"

namespace tailrace {
namespace {

TEST(PartBoxes, OfRanksAreTheirBlocksJoined) {
    std::mt19937_64 random(20261121);
    const auto between = [&](uint64_t lo, uint64_t hi) { return lo + random() % (hi - lo + 1); };
    uint64_t several = 0, with_empty = 0;
    for (int round = 0; round < 3000; ++round) {
        Shape shape, grid;
        for (uint64_t d = 0, dims = between(1, 4); d < dims; ++d) {
            shape.push_back(between(d == 0 ? 0 : 1, 7));
            grid.push_back(between(1, 5));
        }
        const Decomposition decomposition(shape, grid);
        const uint64_t first = between(0, decomposition.ranks() - 1), last = between(first + 1, decomposition.ranks());
        std::vector<Box> blocks;
        for (uint64_t rank = first; rank < last; ++rank)
            if (Box block = decomposition.block(rank); block.elements() > 0) blocks.push_back(std::move(block));
        with_empty += blocks.size() < last - first;
        const std::vector<Box> boxes = joined_blocks(decomposition, first, last);
        ASSERT_EQ(boxes, join_blocks(blocks)) << "round " << round;
        several += boxes.size() > 1;

        for (const Box& box : boxes) {
            BoxSpans expected;
            for (const Box& block : blocks) {
                if (!overlap(block, box)) continue;
                const Spans spans(box.count, within(box, block));
                expected.shortest_bytes = std::min(expected.shortest_bytes, spans.length() * 4);
                expected.most = std::max(expected.most, spans.count());
            }
            const BoxSpans spans = spans_in_box(decomposition, box, 4);
            ASSERT_EQ(spans.shortest_bytes, expected.shortest_bytes) << "round " << round;
            ASSERT_EQ(spans.most, expected.most) << "round " << round;
        }
    }
    EXPECT_GT(several, 500u);
    EXPECT_GT(with_empty, 500u);
}

TEST(PartBoxes, OfOnePartAreTheWholeArrays) {
    const Decomposition decomposition({6, 5}, {2, 3});
    EXPECT_EQ(boxes_of_part(Layout{}, decomposition, 0, 6), (std::vector<Box>{{{0, 0}, {6, 5}}}));
    const BoxSpans spans = spans_in_box(decomposition, {{0, 0}, {6, 5}}, 8);
    EXPECT_EQ(spans.shortest_bytes, 8u);
    EXPECT_EQ(spans.most, 3u);
}

TEST(PartBoxes, AreWrittenByTheirOwnersWhereAllWriteAndSpansAreLong) {
    const BoxSpans longest{kDirectSpanBytes, 1}, shorter{kDirectSpanBytes - 1, 1};
    using F = Files::Kind;
    using W = Writers::Kind;
    for (const F files : {F::one, F::number, F::per_node}) {
        EXPECT_TRUE(is_written_by_owners({.files = {files, 2}, .writers = {W::all}}, 4, longest));
        EXPECT_FALSE(is_written_by_owners({.files = {files, 2}, .writers = {W::all}}, 4, shorter));
        for (const W writers : {W::one, W::per_node})
            EXPECT_FALSE(is_written_by_owners({.files = {files, 2}, .writers = {writers}}, 4, longest));
    }
    EXPECT_TRUE(is_written_by_owners({.files = {F::per_rank}}, 1, shorter));
    EXPECT_TRUE(is_written_by_owners({}, 1, shorter));  // a run of one rank
}

}  // namespace
}  // namespace tailrace
