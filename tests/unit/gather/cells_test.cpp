#include "gather/cells.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace tailrace {
namespace {

std::vector<int32_t> counted(size_t n) {
    std::vector<int32_t> values(n);
    std::iota(values.begin(), values.end(), 0);
    return values;
}

// The given cells of a row.
std::vector<int32_t> cells_of(const std::vector<BlockView>& blocks, size_t dim, uint64_t row, const std::vector<uint32_t>& list,
                              uint64_t cell_elements) {
    Cells cells(blocks, dim);
    cells.begin_out();
    cells.select_row(row);
    std::vector<int32_t> out(list.size() * cell_elements);
    cells.copy_out(list.data(), list.size(), cell_elements * 4, reinterpret_cast<std::byte*>(out.data()));
    return out;
}

TEST(Cells, OfADenseBlock) {
    const auto values = counted(24);  // 2 rows x 4 cells x 3
    const std::vector<BlockView> blocks{{values.data(), 4, {2, 4, 3}, {}}};
    EXPECT_EQ(cells_of(blocks, 1, 0, {2, 0}, 3), (std::vector<int32_t>{6, 7, 8, 0, 1, 2}));
    EXPECT_EQ(cells_of(blocks, 1, 1, {3}, 3), (std::vector<int32_t>{21, 22, 23}));
}

TEST(Cells, OfSeveralBlocksAreNumberedInTheirOrder) {
    const auto values = counted(10);
    const std::vector<BlockView> blocks{{&values[5], 4, {2}, {}}, {&values[0], 4, {1}, {}}, {&values[9], 4, {3}, {-8}}};
    EXPECT_EQ(cells_of(blocks, 0, 0, {0, 1, 2, 3, 4, 5}, 1), (std::vector<int32_t>{5, 6, 0, 9, 7, 5}));
}

TEST(Cells, WhoseElementsAreApartAreCopiedFirst) {
    const auto values = counted(24);  // 4 cells x 3, every second element; and first dimension fastest
    const std::vector<BlockView> apart{{values.data(), 4, {4, 3}, {24, 8}}}, transposed{{values.data(), 4, {4, 3}, {4, 16}}};
    EXPECT_EQ(cells_of(apart, 0, 0, {1}, 3), (std::vector<int32_t>{6, 8, 10}));
    EXPECT_EQ(cells_of(transposed, 0, 0, {1, 3}, 3), (std::vector<int32_t>{1, 5, 9, 3, 7, 11}));
}

TEST(Cells, AreReadIntoBlocks) {
    std::vector<int32_t> values(12, -1);
    const std::vector<BlockView> blocks{{values.data(), 4, {2, 3}, {24, 8}}};
    Cells cells(blocks, 0);
    cells.select_row(0);
    const std::vector<int32_t> in{7, 8, 9, 4, 5, 6};
    const std::vector<uint32_t> list{1, 0};
    cells.copy_in(list.data(), 2, 12, reinterpret_cast<const std::byte*>(in.data()));
    cells.end_in();
    EXPECT_EQ(values, (std::vector<int32_t>{4, -1, 5, -1, 6, -1, 7, -1, 8, -1, 9, -1}));
}

TEST(Cells, OfARowAreCopiedInTheirOrder) {
    const auto values = counted(24);  // 2 rows x 4 cells x 3
    const std::vector<BlockView> dense{{values.data(), 4, {2, 4, 3}, {}}}, reversed{{&values[9], 4, {4, 3}, {-12, 4}}};
    std::vector<int32_t> out(6);
    Cells cells(dense, 1);
    cells.begin_out();
    cells.select_row(1);
    cells.copy_all_out(2, 12, reinterpret_cast<std::byte*>(out.data()));
    EXPECT_EQ(out, (std::vector<int32_t>{12, 13, 14, 15, 16, 17}));
    Cells backwards(reversed, 0);
    backwards.begin_out();
    backwards.select_row(0);
    backwards.copy_all_out(2, 12, reinterpret_cast<std::byte*>(out.data()));
    EXPECT_EQ(out, (std::vector<int32_t>{9, 10, 11, 6, 7, 8}));
}

TEST(Cells, AreCollectedFromPlaces) {
    const auto shown = counted(10);
    std::vector<int32_t> values(6, -1);
    const std::vector<BlockView> blocks{{values.data(), 4, {3}, {8}}};
    Cells cells(blocks, 0);
    cells.select_row(0);
    const std::vector<uint64_t> places{7, 0, 7};
    cells.collect(places.data(), 3, 4, reinterpret_cast<const std::byte*>(shown.data()));
    cells.end_in();
    EXPECT_EQ(values, (std::vector<int32_t>{7, -1, 0, -1, 7, -1}));
}

}  // namespace
}  // namespace tailrace
