// Encodes where the chunks of a part's arrays are: an index for each array that has chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "format/bytes.hpp"
#include "format/chunk_index.hpp"
#include "part/image_plan.hpp"

namespace tailrace {

struct ChunkIndexes {
    std::vector<format::Bytes> layouts;  // of each array that has chunks: its layout message
    uint64_t most_children = format::kMostChildren;
    uint64_t raw_end = 0;  // behind all chunks
};

inline void align(format::Bytes& out) { out.put_zeros((8 - out.size() % 8) % 8); }

// Appends the indexes to `out`, the first byte of which is at the plan's metadata address.
ChunkIndexes put_chunk_indexes(format::Bytes& out, const ImagePlan& plan);

}  // namespace tailrace
