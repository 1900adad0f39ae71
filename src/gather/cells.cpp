#include "gather/cells.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tailrace {
namespace {

// RATIONALE: a constant size lets the compiler copy a cell in one instruction.
template <class Use>
void with_constant_size(uint64_t bytes, Use&& use) {
    switch (bytes) {
        case 1: return use(std::integral_constant<uint64_t, 1>{});
        case 2: return use(std::integral_constant<uint64_t, 2>{});
        case 4: return use(std::integral_constant<uint64_t, 4>{});
        case 8: return use(std::integral_constant<uint64_t, 8>{});
        default: return use(bytes);
    }
}

bool has_dense_cells(const BlockView& block, size_t dim) {
    auto pitch = static_cast<int64_t>(block.element_bytes());
    for (size_t d = block.count().size(); d-- > dim + 1; pitch *= static_cast<int64_t>(block.count()[d]))
        if (block.count()[d] > 1 && block.stride_bytes(d) != pitch) return false;
    return true;
}

}  // namespace

Cells::Cells(const std::vector<BlockView>& blocks, size_t dim) : blocks_(blocks), dim_(dim) {
    const auto is_dense = [dim](const BlockView& block) { return has_dense_cells(block, dim); };
    if (std::ranges::all_of(blocks, is_dense)) return;
    for (const BlockView& block : blocks) {
        copies_.emplace_back(is_dense(block) ? 0 : volume(block.count()) * block.element_bytes());
        dense_.push_back(is_dense(block) ? block : BlockView(copies_.back().data(), block.element_bytes(), block.count(), {}));
    }
}

void Cells::begin_out() {
    for (size_t b = 0; b < copies_.size(); ++b)
        if (!copies_[b].empty()) blocks_[b].copy_out(0, volume(blocks_[b].count()), copies_[b].data());
}

void Cells::end_in() const {
    for (size_t b = 0; b < copies_.size(); ++b)
        if (!copies_[b].empty()) blocks_[b].copy_in(0, volume(blocks_[b].count()), copies_[b].data());
}

const std::byte* Cells::row_of(const BlockView& block, uint64_t row) const {
    const std::byte* first = block.first();
    for (size_t d = dim_; d-- > 0; row /= block.count()[d])
        first += static_cast<int64_t>(row % block.count()[d]) * block.stride_bytes(d);
    return first;
}

void Cells::select_row(uint64_t row) {
    const std::vector<BlockView>& blocks = dense_.empty() ? blocks_ : dense_;
    if (row == selected_) return;
    selected_ = row;
    places_.clear();
    if (blocks.size() == 1) {
        first_ = row_of(blocks.front(), row);
        step_ = blocks.front().stride_bytes(dim_);
        return;
    }
    for (const BlockView& block : blocks) {
        const std::byte* first = row_of(block, row);
        const int64_t step = block.count()[dim_] > 1 ? block.stride_bytes(dim_) : 0;
        for (uint64_t i = 0; i < block.count()[dim_]; ++i) places_.push_back(first + static_cast<int64_t>(i) * step);
    }
}

// Calls use(cells) with a function from a cell's number to its memory. RATIONALE: it holds copies of the members, which the
// compiler would read again after each store of bytes.
template <class Use>
void Cells::with_places(Use&& use) const {
    if (places_.empty())
        use([first = const_cast<std::byte*>(first_), step = step_](uint64_t cell) {
            return first + static_cast<int64_t>(cell) * step;
        });
    else
        use([places = places_.data()](uint64_t cell) { return const_cast<std::byte*>(places[cell]); });
}

void Cells::copy_out(const uint32_t* cells, uint64_t count, uint64_t cell_bytes, std::byte* to) const {
    with_constant_size(cell_bytes, [&, to](auto bytes) {
        with_places([&, at_cell = to](auto place) mutable {
            for (uint64_t i = 0; i < count; ++i, at_cell += bytes) std::memcpy(at_cell, place(cells[i]), bytes);
        });
    });
}

void Cells::copy_in(const uint32_t* cells, uint64_t count, uint64_t cell_bytes, const std::byte* from) const {
    with_constant_size(cell_bytes, [&, from](auto bytes) {
        with_places([&, at_cell = from](auto place) mutable {
            for (uint64_t i = 0; i < count; ++i, at_cell += bytes) std::memcpy(place(cells[i]), at_cell, bytes);
        });
    });
}

void Cells::copy_all_out(uint64_t count, uint64_t cell_bytes, std::byte* to) const {
    if (places_.empty() && step_ == static_cast<int64_t>(cell_bytes)) {
        if (count > 0) std::memcpy(to, first_, count * cell_bytes);
        return;
    }
    with_constant_size(cell_bytes, [&, to](auto bytes) {
        with_places([&, at_cell = to](auto place) mutable {
            for (uint64_t i = 0; i < count; ++i, at_cell += bytes) std::memcpy(at_cell, place(i), bytes);
        });
    });
}

void Cells::collect(const uint64_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from) const {
    with_constant_size(cell_bytes, [&, from](auto bytes) {
        with_places([&, from](auto place) {
            for (uint64_t i = 0; i < count; ++i) std::memcpy(place(i), from + places[i] * bytes, bytes);
        });
    });
}

void spread_cells(const uint32_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from, std::byte* to) {
    with_constant_size(cell_bytes, [&](auto bytes) {
        for (uint64_t i = 0; i < count; ++i, from += bytes) std::memcpy(to + places[i] * bytes, from, bytes);
    });
}

void collect_cells(const uint32_t* places, uint64_t count, uint64_t cell_bytes, const std::byte* from, std::byte* to) {
    with_constant_size(cell_bytes, [&](auto bytes) {
        for (uint64_t i = 0; i < count; ++i, to += bytes) std::memcpy(to, from + places[i] * bytes, bytes);
    });
}

}  // namespace tailrace
