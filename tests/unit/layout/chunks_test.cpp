#include "layout/chunks.hpp"

#include <gtest/gtest.h>

using namespace tailrace;

namespace {

struct Case {
    Shape shape;
    uint64_t element_bytes, chunk_bytes;
    Shape chunk;
    uint64_t count;
};

TEST(Chunks, AreSpansOfTheArrayThatFollowEachOther) {
    const Case cases[] = {
        {{1000, 100}, 4, 40000, {100, 100}, 10},  // rows of 400 bytes
        {{1001, 100}, 4, 40000, {91, 100}, 11},   // pieces of nearly equal length
        {{10, 1000, 100}, 4, 100000, {1, 250, 100}, 40},
        {{10, 1001, 100}, 4, 100000, {1, 201, 100}, 50},
        {{3, 5}, 8, 1 << 20, {3, 5}, 1},
        {{2, 100000}, 8, 100000, {1, 12500}, 16},
        {{7}, 1, 3, {3}, 3},
        {{2, 3}, 8, 1, {1, 1}, 6},  // never less than an element
    };
    for (const Case& of : cases) {
        const ChunkGrid grid(of.shape, of.element_bytes, of.chunk_bytes);
        EXPECT_EQ(grid.chunk(), of.chunk);
        ASSERT_EQ(grid.count(), of.count);
        const auto same = ChunkGrid::of(of.shape, of.chunk);
        ASSERT_TRUE(same);
        EXPECT_EQ(grid.begin(0), 0u);
        EXPECT_EQ(grid.begin(grid.count()), volume(of.shape));
        for (uint64_t c = 0; c < grid.count(); ++c) {
            const Shape offset = grid.offset(c);
            const Box box = grid.box(c);
            EXPECT_EQ(box.offset, offset);
            const Spans spans(of.shape, box);
            ASSERT_EQ(spans.count(), 1u) << describe(box);
            EXPECT_EQ(spans.begin(0), grid.begin(c));
            EXPECT_EQ(spans.begin(0) + spans.length(), grid.begin(c + 1));
            EXPECT_EQ(same->begin(c), grid.begin(c));
            EXPECT_EQ(same->offset(c), offset);
            EXPECT_EQ(grid.at(grid.begin(c)), c);
            EXPECT_EQ(grid.at(grid.begin(c + 1) - 1), c);
        }
    }
}

TEST(Chunks, OfOthersAreTakenWhereTheyAreSpans) {
    EXPECT_TRUE(ChunkGrid::of({4, 1, 6}, {1, 1, 6}));
    EXPECT_TRUE(ChunkGrid::of({4, 1, 6}, {2, 1, 6}));
    EXPECT_TRUE(ChunkGrid::of({4, 1, 6}, {1, 1, 2}));
    EXPECT_EQ(ChunkGrid::of({4, 5, 6}, {1, 5, 6})->count(), 4u);
    EXPECT_EQ(ChunkGrid::of({4, 5, 6}, {4, 5, 6})->count(), 1u);
    for (const Shape& chunk : {Shape{2, 5, 3}, {2, 2, 6}, {0, 5, 6}, {8, 5, 6}, {5, 6}, {1, 2, 3}})
        EXPECT_FALSE(ChunkGrid::of({4, 5, 6}, chunk)) << volume(chunk);
    EXPECT_FALSE(ChunkGrid::of({}, {}));
    EXPECT_FALSE(ChunkGrid::of({0, 3}, {1, 3}));
}

TEST(Chunks, AreOnlyMadeOfLargeArraysUnderCompression) {
    Storage storage;
    EXPECT_FALSE(is_compressed(storage, {1 << 20}, 8));
    storage.compression = {Compression::Kind::deflate, 1};
    EXPECT_TRUE(is_compressed(storage, {kLeastCompressedBytes / 8}, 8));
    EXPECT_FALSE(is_compressed(storage, {kLeastCompressedBytes / 8 - 1}, 8));
    EXPECT_FALSE(is_compressed(storage, {}, 8));
    EXPECT_FALSE(is_compressed(storage, {0, 1000}, 8));
}

}  // namespace
