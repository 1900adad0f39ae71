// The elements of a variable under single indices of one dimension ("cells"), in the memory of the model: blocks with any strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/block_view.hpp"

namespace tailrace {

class Cells {
public:
    // The blocks are whole along all dimensions but `dim`. They must live as long.
    Cells(const std::vector<BlockView>& blocks, size_t dim);
    Cells(const Cells&) = delete;

    // Before copy_out(): takes over the blocks whose cells are not dense in memory. After copy_in(): gives them back.
    void begin_out();
    void end_in() const;
    // The cells of a row: those under one index of the dimensions before `dim`, which is counted in C order.
    void select_row(uint64_t row);
    // Copies cells of the row, by their numbers in the order of the blocks, to dense memory; and from there into the blocks.
    void copy_out(const uint32_t* cells, uint64_t count, uint64_t cell_bytes, std::byte* to) const;
    void copy_in(const uint32_t* cells, uint64_t count, uint64_t cell_bytes, const std::byte* from) const;

private:
    const std::byte* row_of(const BlockView& block, uint64_t row) const;
    std::byte* at(uint32_t cell) const {
        return const_cast<std::byte*>(places_.empty() ? first_ + static_cast<int64_t>(cell) * step_ : places_[cell]);
    }

    const std::vector<BlockView>& blocks_;
    const size_t dim_;
    // In place of blocks whose cells are not dense: all blocks, and the copies of these.
    std::vector<BlockView> dense_;
    std::vector<std::vector<std::byte>> copies_;
    uint64_t selected_ = UINT64_MAX;
    // Of the selected row: where a single block's cells are, or those of several.
    const std::byte* first_ = nullptr;
    int64_t step_ = 0;
    std::vector<const std::byte*> places_;
};

// A cell's dense copies in a buffer: `places` has the numbers of the cells there.
void spread_cells(const uint32_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from, std::byte* to);
void collect_cells(const uint32_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from, std::byte* to);

}  // namespace tailrace
