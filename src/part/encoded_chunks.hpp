// Encodes where the chunks of a part's arrays are: an index for each array that has chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "format/bytes.hpp"
#include "format/chunk_index.hpp"
#include "part/image_plan.hpp"

namespace tailrace {

// How an array is divided into chunks.
struct ChunkShape {
    Shape chunk;                    // with the leading time dimension
    std::optional<ChunkGrid> grid;  // of a step; a scalar has none
    // The number of chunks of one step. An array without elements has none.
    uint64_t a_step(const Array& array, const Description& description) const {
        return bytes_of(description, array) == 0 ? 0 : grid ? grid->count() : 1;
    }
    // The position of the first element of a chunk; chunks are counted through all steps.
    Shape offset(uint64_t number, uint64_t a_step) const {
        return grid ? grid->offset(number / a_step, number % a_step) : Shape{number};
    }
};
// Nothing where the array has no chunks.
std::optional<ChunkShape> chunk_shape_of(const ImagePlan& plan, size_t array);

struct ChunkIndexes {
    std::vector<format::Bytes> layouts;  // of each array that has chunks: its layout message
    uint64_t most_children = format::kMostChildren;
    uint64_t raw_end = 0;  // address behind all chunks
};

inline void align(format::Bytes& out) { out.put_zeros((8 - out.size() % 8) % 8); }

// Appends the indexes to `out`, the first byte of which is at the plan's metadata address.
ChunkIndexes put_chunk_indexes(format::Bytes& out, const ImagePlan& plan);
// For trees that are stored elsewhere: their layout messages, with an undefined address. All arrays that vary have chunks.
ChunkIndexes indexes_without_chunks(const ImagePlan& plan, uint64_t most_children);

}  // namespace tailrace
