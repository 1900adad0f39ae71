// Who owns what: the blocks of a rank under a decomposition, and how they lie in its memory.
#pragma once

#include <algorithm>
#include <string>

#include "write_case_values.hpp"

namespace write_case {

struct Block {
    Shape offset, count;
    // A list: these indices of one dimension, in place of a range. The dimensions of other blocks are ranges all.
    std::vector<uint64_t> indices = {};
    size_t along = SIZE_MAX;
    bool is_list() const { return along != SIZE_MAX; }
    uint64_t index(size_t d, uint64_t k) const { return d == along ? indices[k] : offset[d] + k; }
};

inline uint64_t begin_of(uint64_t length, uint64_t pieces, uint64_t k) { return length * k / pieces; }

// One block a rank on a grid, the last dimension fastest.
inline Block grid_block(const Shape& shape, const Shape& grid, uint64_t rank) {
    Block block{Shape(shape.size()), Shape(shape.size())};
    for (size_t d = shape.size(); d-- > 0; rank /= grid[d]) {
        const uint64_t at = rank % grid[d];
        block.offset[d] = begin_of(shape[d], grid[d], at);
        block.count[d] = begin_of(shape[d], grid[d], at + 1) - block.offset[d];
    }
    return block;
}

inline Shape grid_of(const std::string& decomposition, size_t dims, uint64_t ranks) {
    Shape grid(dims, 1);
    if (decomposition == "rows") grid[dims >= 2 ? dims - 2 : 0] = ranks;
    if (decomposition == "columns") grid[dims - 1] = ranks;
    if (decomposition == "blocks2d" || decomposition == "blocks3d") {
        const size_t split = std::min<size_t>(dims, decomposition == "blocks2d" ? 2 : 3);
        uint64_t left = ranks;
        for (size_t d = dims - split; d + 1 < dims; ++d) {
            uint64_t factor = 1;
            for (uint64_t f = 2; f <= left; ++f)
                if (left % f == 0) {
                    factor = f;
                    break;
                }
            grid[d] = factor;
            left /= factor;
        }
        grid[dims - 1] = left;
    }
    return grid;
}

// Strips of one, two, three, one ... rows, each in two pieces, dealt to the ranks in turn: several blocks a rank, none alike.
inline std::vector<Block> irregular(const Shape& shape, uint64_t rank, uint64_t ranks) {
    std::vector<Block> blocks;
    const size_t split = shape.size() >= 2 ? shape.size() - 2 : 0, last = shape.size() - 1;
    uint64_t strip = 0;
    for (uint64_t row = 0, rows; row < shape[split]; row += rows, ++strip) {
        rows = std::min(strip % 3 + 1, shape[split] - row);
        Block block{Shape(shape.size(), 0), shape};
        block.offset[split] = row;
        block.count[split] = rows;
        if (last == split) {
            if (strip % ranks == rank) blocks.push_back(block);
            continue;
        }
        Block left = block, right = block;
        left.count[last] = right.offset[last] = (strip + 1) % shape[last];
        right.count[last] = shape[last] - right.offset[last];
        if (strip % ranks == rank) blocks.push_back(left);
        if ((strip + 1) % ranks == rank) blocks.push_back(right);
    }
    if (rank % 2 == 1) std::ranges::reverse(blocks);
    return blocks;
}

inline uint64_t scattered(uint64_t number) { return (number + 1) * 0x9E3779B97F4A7C15 >> 40; }

// Cells of the last two dimensions in runs of one to three, each of any rank: an unstructured mesh with a list of cells a rank.
inline std::vector<Block> cells(const Shape& shape, uint64_t rank, uint64_t ranks) {
    std::vector<Block> blocks;
    const size_t last = shape.size() - 1;
    const uint64_t rows = shape.size() >= 2 ? shape[last - 1] : 1;
    for (uint64_t row = 0, run = 0; row < rows; ++row)
        for (uint64_t at = 0, length; at < shape[last]; at += length, ++run) {
            length = std::min(scattered(run) % 3 + 1, shape[last] - at);
            if (scattered(run + 7) % ranks != rank) continue;
            Block block{Shape(shape.size(), 0), shape};
            if (last > 0) block.offset[last - 1] = row, block.count[last - 1] = 1;
            block.offset[last] = at;
            block.count[last] = length;
            blocks.push_back(block);
        }
    return blocks;
}

// Halves of halves, some of which are not halved further, in every step others: a mesh that is refined where something happens.
inline void refine(const Shape& shape, const Block& block, uint64_t depth, uint64_t number, uint64_t rank, uint64_t ranks,
                   std::vector<Block>& blocks) {
    const size_t d = shape.size() - 1 - depth % std::min<size_t>(shape.size(), 2);
    if (depth == 5 || block.count[d] < 2 || (depth > 1 && scattered(number) % 4 == 0)) {
        if (scattered(number + 3) % ranks == rank) blocks.push_back(block);
        return;
    }
    Block first = block, second = block;
    first.count[d] = block.count[d] / 2;
    second.offset[d] += first.count[d];
    second.count[d] -= first.count[d];
    refine(shape, first, depth + 1, 2 * number, rank, ranks, blocks);
    refine(shape, second, depth + 1, 2 * number + 1, rank, ranks, blocks);
}

// decomposition: rows, columns, blocks2d, blocks3d, irregular, cells, amr (other blocks in every step), one (the last rank owns
// all), some (every second rank owns rows).
inline std::vector<Block> blocks_of(const std::string& decomposition, const Shape& shape, uint64_t rank, uint64_t ranks,
                                    uint64_t step) {
    if (decomposition == "irregular") return irregular(shape, rank, ranks);
    if (decomposition == "cells") return cells(shape, rank, ranks);
    if (decomposition == "amr") {
        std::vector<Block> blocks;
        refine(shape, {Shape(shape.size(), 0), shape}, 0, step + 1, rank, ranks, blocks);
        return blocks;
    }
    if (decomposition == "one") {
        if (rank + 1 < ranks) return {};
        return {{Shape(shape.size(), 0), shape}};
    }
    if (decomposition == "some") {
        if (rank % 2 == 1) return {};
        return {grid_block(shape, grid_of("rows", shape.size(), (ranks + 1) / 2), rank / 2)};
    }
    return {grid_block(shape, grid_of(decomposition, shape.size(), ranks), rank)};
}

// What a rank of an unstructured model owns of a variable: scattered indices of one dimension, in no order, others in every second
// step. Without what is in the gap.
inline Block list_of(const Variable& variable, const Shape& shape, uint64_t rank, uint64_t ranks, uint64_t step, bool without_gap) {
    Block block{Shape(shape.size(), 0), shape};
    block.along = variable.has_gap ? shape.size() - 1 : static_cast<size_t>(variable.number) % shape.size();
    const uint64_t key = step / 2 * 1000 + (variable.number % 3 == 0 ? 7 : 0);
    for (uint64_t i = 0; i < shape[block.along]; ++i)
        if (scattered(key + i) % ranks == rank && !(without_gap && i + 3 >= shape[block.along])) block.indices.push_back(i);
    std::sort(block.indices.begin(), block.indices.end(), [&](uint64_t a, uint64_t b) { return scattered(a) < scattered(b); });
    block.count[block.along] = block.indices.size();
    return block;
}

// A block in memory with its values, filled by formula. memory: dense, halo (one element around each end), transposed (first
// dimension fastest), backwards (last dimension descending).
struct Stored {
    Block block;
    std::vector<std::byte> bytes;
    std::vector<int64_t> stride;
    int64_t first = 0;

    tailrace_block view() const {
        return {bytes.data() + first, block.offset.data(), block.count.data(), stride.empty() ? nullptr : stride.data()};
    }
};

// Room for a block.
inline Stored lay_block(const Variable& variable, Block block, const std::string& memory) {
    const size_t dims = block.count.size();
    const auto element = static_cast<int64_t>(bytes_of(variable.type));
    Stored stored{std::move(block), {}, std::vector<int64_t>(dims), 0};
    const int64_t halo = memory == "halo" ? 1 : 0;
    int64_t pitch = element;
    for (size_t i = 0; i < dims; ++i) {
        const size_t d = memory == "transposed" ? i : dims - 1 - i;
        stored.stride[d] = pitch;
        stored.first += halo * pitch;
        pitch *= static_cast<int64_t>(stored.block.count[d]) + 2 * halo;
    }
    stored.bytes.assign(static_cast<size_t>(std::max<int64_t>(pitch, 1)), std::byte{0x5A});
    if (memory == "backwards" && stored.block.count[dims - 1] > 0) {
        stored.first = (static_cast<int64_t>(stored.block.count[dims - 1]) - 1) * element;
        stored.stride[dims - 1] = -element;
    }
    if (memory == "dense") stored.stride.clear();
    return stored;
}

// Calls use(index in the array, place in memory) for each element of the block.
template <class Use>
void for_elements(const Stored& stored, const Shape& shape, size_t element_bytes, Use use) {
    const size_t dims = shape.size();
    const uint64_t elements = volume(stored.block.count);
    for (uint64_t i = 0; i < elements; ++i) {
        uint64_t rest = i, index = 0, pace = 1;
        int64_t at = stored.first, pitch = static_cast<int64_t>(element_bytes);
        for (size_t d = dims; d-- > 0; rest /= stored.block.count[d]) {
            const uint64_t k = rest % stored.block.count[d];
            at += static_cast<int64_t>(k) * (stored.stride.empty() ? pitch : stored.stride[d]);
            pitch *= static_cast<int64_t>(stored.block.count[d]);
            index += stored.block.index(d, k) * pace;
            pace *= shape[d];
        }
        use(index, at);
    }
}

inline Stored store_block(const Variable& variable, const Shape& shape, Block block, uint64_t step, const std::string& memory) {
    Stored stored = lay_block(variable, std::move(block), memory);
    for_elements(stored, shape, bytes_of(variable.type),
                 [&](uint64_t index, int64_t at) { store(variable, step, index, stored.bytes.data() + at); });
    return stored;
}

}  // namespace write_case
