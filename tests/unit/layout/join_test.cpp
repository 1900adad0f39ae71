#include "layout/join.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "layout/decomposition.hpp"
#include "layout/slab.hpp"

namespace tailrace {
namespace {

uint64_t elements_of(const std::vector<Box>& boxes) {
    uint64_t elements = 0;
    for (const Box& box : boxes) elements += box.elements();
    return elements;
}

// The boxes hold what the blocks hold: as much, without an overlap, and every block lies in one of them.
void check(const std::vector<Box>& blocks, const std::vector<Box>& boxes) {
    EXPECT_EQ(elements_of(boxes), elements_of(blocks));
    for (size_t i = 0; i < boxes.size(); ++i)
        for (size_t j = i + 1; j < boxes.size(); ++j) EXPECT_FALSE(overlap(boxes[i], boxes[j]));
    for (const Box& block : blocks) {
        int within = 0;
        for (const Box& box : boxes) within += intersection(block, box) == block;
        EXPECT_EQ(within, 1) << describe(block);
    }
}

TEST(Join, ConsecutiveRanksAreFewBoxes) {
    std::mt19937_64 random(20261121);
    for (int round = 0; round < 300; ++round) {
        Shape grid, shape;
        for (uint64_t d = 0, dims = 1 + random() % 4; d < dims; ++d) {
            grid.push_back(1 + random() % 5);
            shape.push_back(grid[grid.size() - 1] * (1 + random() % 3) + random() % 2);
        }
        const Decomposition decomposition(shape, grid);
        const uint64_t first = random() % decomposition.ranks(), last = first + 1 + random() % (decomposition.ranks() - first);
        std::vector<Box> blocks;
        for (uint64_t rank = first; rank < last; ++rank) blocks.push_back(decomposition.block(rank));
        const std::vector<Box> boxes = join_blocks(blocks);
        check(blocks, boxes);
        EXPECT_LE(boxes.size(), 2 * shape.size() - 1);
        std::shuffle(blocks.begin(), blocks.end(), random);
        EXPECT_EQ(join_blocks(blocks), boxes);
        ASSERT_FALSE(HasFailure()) << "round " << round;
    }
}

TEST(Join, BlocksOfAnyOrderMakeUpOneBox) {
    // A pinwheel: no two of its blocks have a whole side in common.
    EXPECT_EQ(join_blocks({{{0, 0}, {1, 2}}, {{0, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 0}, {2, 1}}, {{1, 1}, {1, 1}}}),
              (std::vector<Box>{{{0, 0}, {3, 3}}}));
}

TEST(Join, BlocksApartStayApart) {
    const std::vector<Box> blocks{{{0, 0}, {2, 2}}, {{0, 3}, {2, 2}}, {{2, 1}, {1, 2}}};
    EXPECT_EQ(join_blocks(blocks), blocks);
    EXPECT_EQ(join_blocks({{{7}, {1}}, {{3}, {2}}, {{5}, {1}}}), (std::vector<Box>{{{3}, {3}}, {{7}, {1}}}));
    EXPECT_TRUE(join_blocks({}).empty());
}

}  // namespace
}  // namespace tailrace
