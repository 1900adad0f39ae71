#include "layout/block_view.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tailrace {
namespace {

// A block in memory with random strides: permuted dimensions, gaps between rows, negative steps, repeated rows (stride 0).
class BlockViewTest : public testing::Test {
protected:
    uint64_t between(uint64_t lo, uint64_t hi) { return std::uniform_int_distribution<uint64_t>(lo, hi)(engine_); }

    void make(uint64_t element_bytes) {
        element_bytes_ = element_bytes;
        count_ = Shape(between(0, 5));
        for (uint64_t& n : count_) n = between(1, 5);
        stride_.assign(count_.size(), 0);
        std::vector<size_t> order(count_.size());
        for (size_t d = 0; d < order.size(); ++d) order[d] = order.size() - 1 - d;
        if (between(0, 2) == 0) std::shuffle(order.begin(), order.end(), engine_);
        auto pitch = static_cast<int64_t>(element_bytes);
        int64_t before = 0;  // bytes that negative strides reach before the first element
        for (const size_t d : order) {
            if (between(0, 2) == 0) pitch += static_cast<int64_t>(between(0, 3) * element_bytes);
            const bool backwards = between(0, 5) == 0;
            stride_[d] = between(0, 9) == 0 ? 0 : backwards ? -pitch : pitch;
            if (stride_[d] < 0) before += pitch * static_cast<int64_t>(count_[d] - 1);
            pitch *= static_cast<int64_t>(count_[d]);
        }
        memory_.resize(static_cast<size_t>(pitch + before));
        for (std::byte& byte : memory_) byte = static_cast<std::byte>(between(0, 255));
        first_ = memory_.data() + before;
    }

    // One element after the other, by the definition of a stride.
    std::vector<std::byte> by_definition() const {
        std::vector<std::byte> bytes;
        for (uint64_t i = 0; i < volume(count_); ++i) {
            const std::byte* place = first_;
            uint64_t rest = i;
            for (size_t d = count_.size(); d-- > 0; rest /= count_[d]) place += static_cast<int64_t>(rest % count_[d]) * stride_[d];
            bytes.insert(bytes.end(), place, place + element_bytes_);
        }
        return bytes;
    }

    uint64_t element_bytes_ = 1;
    Shape count_;
    std::vector<int64_t> stride_;
    std::vector<std::byte> memory_;
    const std::byte* first_ = nullptr;

private:
    std::mt19937_64 engine_{29};
};

TEST_F(BlockViewTest, AnySpanOfAnyStridesIsCopiedOut) {
    for (int round = 0; round < 4000; ++round) {
        make(1u << between(0, 3));
        const BlockView view(first_, element_bytes_, count_, stride_);
        const std::vector<std::byte> expected = by_definition();
        const uint64_t begin = between(0, volume(count_)), n = between(0, volume(count_) - begin);
        const auto from = expected.begin() + static_cast<long>(begin * element_bytes_);
        const std::vector<std::byte> wanted(from, from + static_cast<long>(n * element_bytes_));
        std::vector<std::byte> copied(n * element_bytes_, std::byte{0xEE});
        view.copy_out(begin, n, copied.data());
        ASSERT_EQ(copied, wanted) << "round " << round;
        std::vector<std::byte> by_spans;
        view.for_spans(begin, n,
                       [&](const std::byte* span, uint64_t bytes) { by_spans.insert(by_spans.end(), span, span + bytes); });
        ASSERT_EQ(by_spans, wanted) << "round " << round;
    }
}

TEST_F(BlockViewTest, DenseMemoryIsOnePiece) {
    const Shape count{3, 4, 5};
    const std::vector<double> data(60);
    EXPECT_EQ(BlockView(data.data(), 8, count, {}).span_bytes(), 480u);
    EXPECT_EQ(BlockView(data.data(), 8, count, {160, 40, 8}).span_bytes(), 480u);
    EXPECT_EQ(BlockView(data.data(), 8, count, {200, 40, 8}).span_bytes(), 160u) << "rows of a plane lie together, planes do not";
    EXPECT_EQ(BlockView(data.data(), 8, count, {160, 48, 8}).span_bytes(), 40u) << "a halo of one element";
    EXPECT_EQ(BlockView(data.data(), 8, count, {8, 24, 96}).span_bytes(), 8u) << "Fortran order";
    EXPECT_EQ(BlockView(data.data(), 8, {3, 1, 5}, {40, 9999, 8}).span_bytes(), 120u)
        << "the stride of an extent of 1 means nothing";
    EXPECT_EQ(BlockView(data.data(), 8, {}, {}).span_bytes(), 8u) << "a scalar";
}

}  // namespace
}  // namespace tailrace
