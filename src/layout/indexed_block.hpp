// Blocks that are lists: the elements at given indices of one dimension, whole along the others, as unstructured models have them.
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
    size_t dim = 0;  // the dimension of the variable that the indices are along
    IndexList indices;
    BlockView memory;  // as many elements along `dim` as there are indices
};

// Along which dimensions the blocks that one rank has put of one variable in a step can be, or should be, lists of indices.
struct IndexedPut {
    // For each dimension of the variable whether the blocks are whole along all others.
    std::array<bool, kMaxDims> can_count{};
    // The dimension of the blocks that were put as lists; and a second dimension, if lists along several were put.
    std::optional<size_t> requested, requested_too;
    // A dimension, with `can_count`, along which the blocks should be moved as lists: they are so many and so small that storing
    // each of them costs more.
    std::optional<size_t> advised;
};

constexpr size_t kManyBlocks = 64;  // with fewer blocks, `advised` is never set

// Local. `boxes`: the blocks that are not lists.
IndexedPut indexed_put(const Shape& shape, uint64_t element_bytes, const std::vector<IndexedBlock>& lists,
                       const std::vector<Box>& boxes);
// The indices along `dim` of all blocks, lists first.
std::vector<uint64_t> indices_of(size_t dim, const std::vector<IndexedBlock>& lists, const std::vector<Box>& boxes);

}  // namespace tailrace
