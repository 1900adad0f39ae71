#include "layout/box.hpp"

#include <gtest/gtest.h>

#include <random>

#include "layout/decomposition.hpp"
#include "layout/slab.hpp"

namespace tailrace {
namespace {

// The positions of a box's elements in file order, one by one.
std::vector<uint64_t> positions_of(const Shape& shape, const Box& box) {
    std::vector<uint64_t> positions;
    for (uint64_t i = 0; i < box.elements(); ++i) {
        uint64_t rest = i, position = 0, pitch = 1;
        for (size_t d = shape.size(); d-- > 0; rest /= box.count[d]) {
            position += (box.offset[d] + rest % box.count[d]) * pitch;
            pitch *= shape[d];
        }
        positions.push_back(position);
    }
    return positions;
}

class BoxTest : public testing::Test {
protected:
    uint64_t between(uint64_t lo, uint64_t hi) { return std::uniform_int_distribution<uint64_t>(lo, hi)(engine_); }
    Shape any_shape(uint64_t most_dims) {
        Shape shape(between(0, most_dims));
        for (uint64_t& n : shape) n = between(1, 6);
        return shape;
    }
    Box box_in(const Shape& shape) {
        Box box{shape, shape};
        for (size_t d = 0; d < shape.size(); ++d) {
            const bool whole = between(0, 2) == 0;
            box.offset[d] = whole ? 0 : between(0, shape[d]);
            box.count[d] = whole ? shape[d] : between(0, shape[d] - box.offset[d]);
        }
        return box;
    }

private:
    std::mt19937_64 engine_{11};
};

TEST_F(BoxTest, SpansAreItsElementsInFileOrder) {
    for (int round = 0; round < 3000; ++round) {
        const Shape shape = any_shape(5);
        const Box box = box_in(shape);
        const Spans spans(shape, box);
        std::vector<uint64_t> by_spans;
        for (uint64_t span = 0; span < spans.count(); ++span)
            for (uint64_t i = 0; i < spans.length(); ++i) by_spans.push_back(spans.begin(span) + i);
        const std::vector<uint64_t> positions = positions_of(shape, box);
        ASSERT_EQ(by_spans, positions) << describe(box);
        uint64_t breaks = positions.empty() ? 0 : 1;
        for (size_t i = 1; i < positions.size(); ++i) breaks += positions[i] != positions[i - 1] + 1;
        // Spans may touch only where a line ends at the edge of the array and the next begins there: never inside a block that is
        // cut.
        ASSERT_GE(spans.count(), breaks) << describe(box);

        const uint64_t lo = between(0, volume(shape)), hi = between(lo, volume(shape));
        uint64_t within = 0;
        for (const uint64_t position : positions) within += position >= lo && position < hi;
        ASSERT_EQ(spans.elements_within(lo, hi), within) << describe(box) << " in [" << lo << ", " << hi << ")";
        const auto [first, last] = spans.touching(lo, hi);
        for (uint64_t span = 0; span < spans.count(); ++span) {
            const bool touches = spans.begin(span) < hi && spans.begin(span) + spans.length() > lo;
            ASSERT_EQ(span >= first && span < last, touches && lo < hi) << describe(box) << " span " << span;
        }
        std::vector<uint64_t> index(kMaxDims, 0);
        for (uint64_t span = 0; span < spans.count(); ++span) {
            spans.outer_index(span, index.data());
            uint64_t position = 0;
            for (size_t d = 0; d < shape.size(); ++d)
                position = position * shape[d] + box.offset[d] + (static_cast<int>(d) < spans.outer_dims() ? index[d] : 0);
            ASSERT_EQ(position, spans.begin(span));
        }
    }
}

TEST_F(BoxTest, OverlapAndIntersectionAreTheCommonElements) {
    uint64_t apart = 0;
    for (int round = 0; round < 3000; ++round) {
        const Shape shape = any_shape(3);
        const Box a = box_in(shape), b = box_in(shape);
        std::vector<uint64_t> common, of_a = positions_of(shape, a), of_b = positions_of(shape, b);
        std::ranges::set_intersection(of_a, of_b, std::back_inserter(common));
        ASSERT_EQ(overlap(a, b), !common.empty()) << describe(a) << " " << describe(b);
        ASSERT_EQ(positions_of(shape, intersection(a, b)), common);
        apart += common.empty();
    }
    EXPECT_GT(apart, 300u);
    EXPECT_LT(apart, 2700u);
}

TEST_F(BoxTest, ASlabsBoxesAreItsPositions) {
    for (int round = 0; round < 3000; ++round) {
        const Shape shape = any_shape(5);
        const uint64_t lo = between(0, volume(shape)), hi = between(lo, volume(shape));
        const std::vector<Box> boxes = slab_boxes(shape, lo, hi);
        ASSERT_LE(boxes.size(), std::max<size_t>(1, 2 * shape.size()));
        std::vector<uint64_t> positions;
        for (const Box& box : boxes) std::ranges::copy(positions_of(shape, box), std::back_inserter(positions));
        ASSERT_EQ(positions.size(), hi - lo);
        for (uint64_t i = 0; i < positions.size(); ++i) ASSERT_EQ(positions[i], lo + i);
    }
}

TEST(Box, IsDescribedAsInPython) {
    EXPECT_EQ(describe(Box{{0, 5}, {10, 15}}), "[0:10, 5:20]");
    EXPECT_EQ(describe(Box{}), "[]");
}

TEST(Decomposition, BlocksMakeUpTheArrayInTheOrderOfTheGrid) {
    std::mt19937_64 engine(3);
    const auto between = [&](uint64_t lo, uint64_t hi) { return std::uniform_int_distribution<uint64_t>(lo, hi)(engine); };
    for (int round = 0; round < 500; ++round) {
        const Shape shape{between(0, 8), between(1, 8), between(1, 8)}, grid{between(1, 4), between(1, 4), between(1, 9)};
        const Decomposition decomposition(shape, grid);
        std::vector<int> owners(volume(shape), 0);
        uint64_t before = 0;
        for (uint64_t rank = 0; rank < decomposition.ranks(); ++rank) {
            const Box block = decomposition.block(rank);
            ASSERT_EQ(decomposition.elements_before(rank), before);
            ASSERT_EQ(decomposition.elements_of(rank), block.elements());
            before += block.elements();
            for (const uint64_t position : positions_of(shape, block)) ++owners[position];
        }
        ASSERT_EQ(decomposition.elements_before(decomposition.ranks()), before);
        for (const int n : owners) ASSERT_EQ(n, 1);

        Box box{{0, between(0, shape[1] - 1), between(0, shape[2] - 1)}, shape};
        for (const size_t d : {1, 2}) box.count[d] = between(1, shape[d] - box.offset[d]);
        std::vector<std::pair<uint64_t, uint64_t>> seen, expected;
        decomposition.for_each_rank(box, [&](uint64_t rank, uint64_t elements) { seen.emplace_back(rank, elements); });
        for (uint64_t rank = 0; rank < decomposition.ranks(); ++rank)
            if (const uint64_t n = intersection(box, decomposition.block(rank)).elements(); n > 0) expected.emplace_back(rank, n);
        ASSERT_EQ(seen, expected);
    }
}

TEST(Decomposition, ChosenGridsAreNearToCubes) {
    EXPECT_EQ(choose_grid(1, {10, 10}), (Shape{1, 1}));
    EXPECT_EQ(choose_grid(6, {180, 360}), (Shape{2, 3}));
    EXPECT_EQ(choose_grid(64, {100, 100, 100}), (Shape{4, 4, 4}));
    EXPECT_EQ(choose_grid(1'000'000, {1000, 1000, 1000}), (Shape{100, 100, 100}));
    EXPECT_EQ(choose_grid(7, {10, 1000}), (Shape{1, 7}));
    EXPECT_EQ(choose_grid(4, {}), Shape{});
}

}  // namespace
}  // namespace tailrace
