// Where the chunks of a dataset are, in the two forms that are written: an array of addresses where the extents are fixed and the
// chunks have one size ("Fixed Array"), and a tree of chunks with their sizes and positions ("Version 1 B-trees", type 1), which
// grows with the dataset.
#pragma once

#include <cstdint>
#include <span>

#include "base/extent.hpp"
#include "format/bytes.hpp"

namespace tailrace::format {

constexpr uint8_t kFixedArrayPageBits = 10;  // HDF5's own

// Children of a node of a tree, at most: a choice of the file, in the superblock's extension. A node has room for as many, used or
// not.
constexpr uint64_t kMostChildren = 64;  // HDF5's own
// Enough for the dataset with the most chunks.
uint64_t children_for(uint64_t chunks);

// Both append to `out`, whose first byte is at address `base`, and return the address for the dataset's layout.

// `chunks`: all of the dataset, in row-major order; at least one.
uint64_t put_fixed_array(Bytes& out, uint64_t base, std::span<const Extent> chunks);

// `offsets`: of each chunk, the position of its first element in each of the `dims` dimensions, in row-major order of the chunks.
// `chunk`: the chunk's extents. Without chunks the address is undefined.
uint64_t put_chunk_tree(Bytes& out, uint64_t base, std::span<const Extent> chunks, std::span<const uint64_t> offsets,
                        std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t most_children);

}  // namespace tailrace::format
