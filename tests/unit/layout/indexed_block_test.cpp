#include "layout/indexed_block.hpp"

#include <gtest/gtest.h>

namespace tailrace {
namespace {

IndexedBlock list(size_t dim, std::vector<uint64_t> indices) {
    return {dim, std::make_shared<const std::vector<uint64_t>>(std::move(indices)), {}};
}

std::vector<Box> cells(uint64_t count, uint64_t apart, uint64_t levels) {
    std::vector<Box> boxes;
    for (uint64_t i = 0; i < count; ++i) boxes.push_back({{i * apart, 0}, {1, levels}});
    return boxes;
}

TEST(IndexedPut, AListRequestsItsDimension) {
    const IndexedPut put = indexed_put({10, 3}, 8, {list(0, {4, 2})}, {});
    EXPECT_EQ(put.requested, 0U);
    EXPECT_TRUE(put.can_count[0]);
    EXPECT_FALSE(put.can_count[1]);
    EXPECT_FALSE(put.requested_too);
}

TEST(IndexedPut, ListsAlongSeveralDimensionsCannotBeCounted) {
    const IndexedPut put = indexed_put({10, 3}, 8, {list(0, {4, 2}), list(1, {0})}, {});
    EXPECT_EQ(put.requested_too, 1U);
    EXPECT_FALSE(put.can_count[0]);
    EXPECT_FALSE(put.can_count[1]);
}

TEST(IndexedPut, BlocksBesideListsAreWholeInTheOtherDimensions) {
    EXPECT_TRUE(indexed_put({10, 3}, 8, {list(0, {4})}, {{{5, 0}, {2, 3}}}).can_count[0]);
    EXPECT_FALSE(indexed_put({10, 3}, 8, {list(0, {4})}, {{{5, 0}, {2, 2}}}).can_count[0]);
}

TEST(IndexedPut, ARankWithoutBlocksCanCountAlongAllDimensions) {
    const IndexedPut put = indexed_put({10, 3}, 8, {}, {});
    EXPECT_TRUE(put.can_count[0] && put.can_count[1]);
    EXPECT_FALSE(put.requested || put.advised);
}

TEST(IndexedPut, ManySmallBlocksAreAdvisedToMove) {
    EXPECT_EQ(indexed_put({1000, 3}, 8, {}, cells(100, 2, 3)).advised, 0U);
    EXPECT_FALSE(indexed_put({1000, 3}, 8, {}, cells(64, 2, 3)).advised) << "few";
    EXPECT_FALSE(indexed_put({1000, 3}, 8, {}, cells(100, 1, 3)).advised) << "side by side, they are one array";
    EXPECT_FALSE(indexed_put({1000, 1024}, 8, {}, cells(100, 2, 1024)).advised) << "large";
    EXPECT_FALSE(indexed_put({1000, 4}, 8, {}, cells(100, 2, 3)).advised) << "not whole in the other dimension";
}

TEST(IndexedPut, IndicesAreThoseOfListsThenOfBlocks) {
    EXPECT_EQ(indices_of(0, {list(0, {4, 2})}, {{{7, 0}, {2, 3}}, {{0, 0}, {1, 3}}}), (std::vector<uint64_t>{4, 2, 7, 8, 0}));
}

}  // namespace
}  // namespace tailrace
