#include "layout/coverage.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "../sanitized.hpp"
#include "layout/topology.hpp"

namespace tailrace {
namespace {

bool holds(const Box& box, const Shape& index) {
    for (size_t d = 0; d < index.size(); ++d)
        if (index[d] < box.offset[d] || index[d] >= box.offset[d] + box.count[d]) return false;
    return true;
}

Shape index_of(const Shape& shape, uint64_t position) {
    Shape index(shape.size());
    for (size_t d = shape.size(); d-- > 0; position /= shape[d]) index[d] = position % shape[d];
    return index;
}

class Draw {
public:
    explicit Draw(uint64_t seed) : engine_(seed) {}
    uint64_t between(uint64_t lo, uint64_t hi) { return std::uniform_int_distribution<uint64_t>(lo, hi)(engine_); }

    // Disjoint boxes that make up the array, by cutting it at random planes.
    std::vector<Box> tiling(const Box& whole, int cuts) {
        std::vector<Box> boxes{whole};
        for (int i = 0; i < cuts && !whole.count.empty(); ++i) {
            const size_t at = between(0, boxes.size() - 1), d = between(0, whole.count.size() - 1);
            Box& box = boxes[at];
            if (box.count[d] < 2) continue;
            const uint64_t low = between(1, box.count[d] - 1);
            Box upper = box;
            upper.offset[d] += low;
            upper.count[d] -= low;
            box.count[d] = low;
            boxes.push_back(upper);
        }
        return boxes;
    }

    Box box_in(const Shape& shape) {
        Box box{shape, shape};
        for (size_t d = 0; d < shape.size(); ++d) {
            box.offset[d] = between(0, shape[d]);
            box.count[d] = between(0, shape[d] - box.offset[d]);
        }
        return box;
    }

private:
    std::mt19937_64 engine_;
};

struct Truth {
    bool overlap = false;
    std::optional<Shape> missing;
};

Truth by_counting(const Shape& shape, uint64_t lo, uint64_t hi, const std::vector<OwnedBox>& boxes) {
    Truth truth;
    for (uint64_t position = lo; position < hi; ++position) {
        const Shape index = index_of(shape, position);
        int owners = 0;
        for (const OwnedBox& owned : boxes) owners += holds(owned.box, index);
        truth.overlap |= owners > 1;
        if (owners == 0 && !truth.missing) truth.missing = index;
    }
    return truth;
}

bool in_common_within(const Shape& shape, uint64_t lo, uint64_t hi, const Box& a, const Box& b) {
    for (uint64_t position = lo; position < hi; ++position)
        if (holds(a, index_of(shape, position)) && holds(b, index_of(shape, position))) return true;
    return false;
}

TEST(Coverage, AgreesWithCountingOwnersOfEachElement) {
    Draw draw(20240501);
    std::map<std::string, int> seen;
    for (int round = 0; round < 12000; ++round) {
        Shape shape(draw.between(0, 4));
        for (uint64_t& n : shape) n = draw.between(1, 6);
        std::vector<Box> boxes = draw.tiling({Shape(shape.size(), 0), shape}, static_cast<int>(draw.between(0, 60)));
        if (draw.between(0, 2) == 0) boxes.push_back(draw.box_in(shape));
        if (draw.between(0, 2) == 0) boxes.erase(boxes.begin() + static_cast<long>(draw.between(0, boxes.size() - 1)));
        std::vector<OwnedBox> owned;
        for (const Box& box : boxes) owned.push_back({draw.between(0, 9), box});
        const uint64_t elements = volume(shape), lo = draw.between(0, elements), hi = draw.between(lo, elements);
        const Truth truth = by_counting(shape, lo, hi, owned);

        for (const bool gaps_allowed : {false, true}) {
            const auto fault = check_coverage(shape, lo, hi, owned, gaps_allowed);
            if (truth.overlap) {
                ASSERT_TRUE(fault && fault->kind == CoverageFault::Kind::overlap) << "round " << round;
                EXPECT_TRUE(in_common_within(shape, lo, hi, fault->a.box, fault->b.box)) << describe(*fault);
                EXPECT_LE(fault->a.rank, fault->b.rank);
                ++seen["overlap"];
            } else if (truth.missing && !gaps_allowed) {
                ASSERT_TRUE(fault && fault->kind == CoverageFault::Kind::gap) << "round " << round;
                EXPECT_EQ(fault->missing, *truth.missing);
                ++seen["gap"];
            } else {
                ASSERT_FALSE(fault) << "round " << round << ": " << describe(*fault);
                ++seen["covered"];
            }
        }
    }
    for (const char* kind : {"overlap", "gap", "covered"}) EXPECT_GT(seen[kind], 500) << kind;
}

TEST(Coverage, NamesTheRanksAndTheirBlocks) {
    const std::vector<OwnedBox> boxes{{3, {{5, 0}, {10, 5}}}, {2, {{0, 0}, {10, 5}}}};
    const auto overlapping = check_coverage({15, 5}, 0, 75, boxes, false);
    ASSERT_TRUE(overlapping);
    EXPECT_EQ(describe(*overlapping), "rank 2's block [0:10, 0:5] overlaps rank 3's block [5:15, 0:5]");
    const auto gap = check_coverage({15, 6}, 0, 90, {{0, {{0, 0}, {15, 5}}}, {1, {{0, 5}, {3, 1}}}, {2, {{4, 5}, {11, 1}}}}, false);
    ASSERT_TRUE(gap);
    EXPECT_EQ(describe(*gap), "no rank owns element [3, 5]");
}

// Seen by one checker, and by one of a million: who compares all pairs does not end within the time of a test.
TEST(Coverage, OfAMillionBlocks) {
    constexpr uint64_t kAlong = kSanitized ? 20 : 100, kAt = kAlong / 5 * 3, kBlock = (kAt * kAlong + kAt) * kAlong + kAt;
    const Shape shape{4 * kAlong, 3 * kAlong, 2 * kAlong};
    std::vector<OwnedBox> boxes;
    for (uint64_t i = 0; i < kAlong; ++i)
        for (uint64_t j = 0; j < kAlong; ++j)
            for (uint64_t k = 0; k < kAlong; ++k) boxes.push_back({boxes.size(), {{4 * i, 3 * j, 2 * k}, {4, 3, 2}}});
    EXPECT_FALSE(check_coverage(shape, 0, volume(shape), boxes, false));
    boxes[kBlock].box.count[2] = 1;
    const auto gap = check_coverage(shape, 0, volume(shape), boxes, false);
    ASSERT_TRUE(gap);
    EXPECT_EQ(gap->missing, (Shape{kAt * 4, kAt * 3, kAt * 2 + 1}));
    boxes[kBlock].box.count[2] = 3;
    const auto fault = check_coverage(shape, 0, volume(shape), boxes, true);
    ASSERT_TRUE(fault && fault->kind == CoverageFault::Kind::overlap);
    EXPECT_EQ(fault->a.rank, kBlock);
    EXPECT_EQ(fault->b.rank, kBlock + 1);
}

}  // namespace
}  // namespace tailrace
