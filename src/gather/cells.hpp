// The elements of a variable under single indices of one dimension ("cells"), in the memory of the model: blocks with any strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/block_view.hpp"

namespace tailrace {

class Cells {
public:
    // The blocks are whole along all dimensions but `dim`. The list must outlive this object.
    Cells(const std::vector<BlockView>& blocks, size_t dim);
    Cells(const Cells&) = delete;

    // Call it before copy_out(): copies the blocks whose cells are not dense in memory to dense memory.
    void begin_out();
    // Call it after copy_in(): copies such blocks back to the model's memory.
    void end_in() const;
    // Selects the cells of one row: of one index of the dimensions before `dim`, counted in C order.
    void select_row(uint64_t row);
    // Copies cells of the selected row to dense memory, or from there into the blocks. `cells`: their numbers in the order of the
    // blocks.
    void copy_out(const uint32_t* cells, uint64_t count, uint64_t cell_bytes, std::byte* to) const;
    void copy_in(const uint32_t* cells, uint64_t count, uint64_t cell_bytes, const std::byte* from) const;
    // Copies the first `count` cells of the selected row, in their order. collect(): cell i becomes the one at places[i] of `from`,
    // counted in cells.
    void copy_all_out(uint64_t count, uint64_t cell_bytes, std::byte* to) const;
    void collect(const uint64_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from) const;

private:
    const std::byte* row_of(const BlockView& block, uint64_t row) const;
    template <class Use>
    void with_places(Use&& use) const;

    const std::vector<BlockView>& blocks_;
    const size_t dim_;
    // If some blocks have cells that are not dense: all blocks, with dense copies in place of these; and the memory of the copies.
    std::vector<BlockView> dense_;
    std::vector<std::vector<std::byte>> copies_;
    uint64_t selected_ = UINT64_MAX;
    // Where the cells of the selected row are: first_ and step_ for a single block, places_ for several.
    const std::byte* first_ = nullptr;
    int64_t step_ = 0;
    std::vector<const std::byte*> places_;
};

// Copy cells between dense memory and a buffer: spread_cells into the buffer, collect_cells out of it. places[i] is the position,
// counted in cells, of cell i in the buffer.
void spread_cells(const uint32_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from, std::byte* to);
void collect_cells(const uint32_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from, std::byte* to);

}  // namespace tailrace
