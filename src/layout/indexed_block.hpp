// Blocks that are lists: the elements under given indices of one dimension, whole along the others. Unstructured models have such.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/block_view.hpp"
#include "layout/box.hpp"

namespace tailrace {

// Blocks of several variables, and of several steps, share one list where the lists are equal.
using IndexList = std::shared_ptr<const std::vector<uint64_t>>;

struct IndexedBlock {
    size_t dim = 0;  // of the variable: what the indices count
    IndexList indices;
    BlockView memory;  // as many elements along `dim` as there are indices
};

// What one rank has put of one variable in a step, as far as lists of indices can say it.
struct IndexedPut {
    // For each dimension of the variable whether the blocks are whole along all others.
    std::array<bool, kMaxDims> can_count{};
    // The dimension of the blocks that were put as lists; a second one, where they are along several.
    std::optional<size_t> requested, requested_too;
    // Blocks that are so many and small that storing each by itself costs more than moving them, with `can_count` along it.
    std::optional<size_t> advised;
};

constexpr size_t kManyBlocks = 64;  // fewer are never advised to be moved

// Local. `boxes`: the blocks that are not lists.
IndexedPut indexed_put(const Shape& shape, uint64_t element_bytes, const std::vector<IndexedBlock>& lists,
                       const std::vector<Box>& boxes);
// The indices along `dim` of all blocks, lists first.
std::vector<uint64_t> indices_of(size_t dim, const std::vector<IndexedBlock>& lists, const std::vector<Box>& boxes);

}  // namespace tailrace
