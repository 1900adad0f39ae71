// Where the chunks of a dataset are, in the two forms that Tailrace writes:
// - an array of addresses, where the lengths are fixed and the chunks have one size ("Fixed Array");
// - a tree of chunks with their sizes and positions ("Version 1 B-trees", type 1), which grows with the dataset.
#pragma once

#include <cstdint>
#include <span>

#include "base/extent.hpp"
#include "format/bytes.hpp"

namespace tailrace::format {

constexpr uint8_t kFixedArrayPageBits = 10;  // HDF5's default

// The most children of a node of a tree. A node has room for all of them, used or not. A number other than this default is written
// to the superblock's extension.
constexpr uint64_t kMostChildren = 64;  // HDF5's default
// The most children of a node in the tree of a dataset with so many chunks: at most kMostChildren, fewer for few chunks.
uint64_t children_for(uint64_t chunks);

// Both functions append to `out`, whose first byte is at address `base`, and return the address for the dataset's layout message.

// Appends the array of the chunks' addresses. `chunks`: all chunks of the dataset, in row-major order; at least one.
uint64_t put_fixed_array(Bytes& out, uint64_t base, std::span<const Extent> chunks);

// Appends the tree of chunks. Without chunks the address is undefined. `offsets`: for each chunk, in row-major order of the chunks,
// the position of its first element in each dimension. `chunk`: the lengths of a chunk.
uint64_t put_chunk_tree(Bytes& out, uint64_t base, std::span<const Extent> chunks, std::span<const uint64_t> offsets,
                        std::span<const uint64_t> chunk, uint64_t element_bytes, uint64_t most_children);

}  // namespace tailrace::format
