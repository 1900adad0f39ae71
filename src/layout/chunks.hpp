// The chunks of a compressed array: a regular grid. Each chunk is one span of the array in file order (C order). So the slabs that
// ranks compress can end where chunks do, and a chunk is gathered like any other span.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/box.hpp"
#include "layout/layout.hpp"

namespace tailrace {

// The default size of a chunk. RATIONALE: readers keep few chunks in memory: netCDF 16 MiB of them, HDF5 1 MiB by default.
constexpr uint64_t kChunkBytes = 1u << 20;
constexpr uint64_t kLeastChunkBytes = 32u << 10, kMostChunkBytes = 2u << 30;
// Arrays with fewer bytes a step than this are not compressed. RATIONALE: a chunk's metadata and the page that it begins on
// take as much space as compression saves.
constexpr uint64_t kLeastCompressedBytes = 32u << 10;

class ChunkGrid {
public:
    ChunkGrid() = default;
    // The array must have elements and at least one dimension.
    ChunkGrid(const Shape& shape, uint64_t element_bytes, uint64_t chunk_bytes);

    // The grid with chunks of this shape; nothing where such chunks are not spans.
    static std::optional<ChunkGrid> of(const Shape& shape, const Shape& chunk);

    // The shape of a chunk. Chunks at the array's end reach beyond it, and are stored whole.
    const Shape& chunk() const { return chunk_; }
    uint64_t count() const { return outer_ * rows_; }
    // The elements in file order that a chunk holds: [begin(c), begin(c + 1)).
    uint64_t begin(uint64_t chunk) const;
    uint64_t at(uint64_t element) const;               // the chunk of an element
    uint64_t whole() const { return volume(chunk_); }  // elements as stored
    // The index in the array of the chunk's first element.
    Shape offset(uint64_t chunk) const;
    // offset() with the leading time dimension.
    Shape offset(uint64_t step, uint64_t chunk) const;
    // The part of the chunk that lies in the array.
    Box box(uint64_t chunk) const;
    bool operator==(const ChunkGrid&) const = default;

private:
    void cut(size_t dimension);
    Shape shape_, chunk_;
    size_t cut_ = 0;  // the dimension that chunks divide; along those before it, a chunk has length 1
    uint64_t outer_ = 0, rows_ = 0, row_elements_ = 0;  // indices before the cut; chunks along it; elements in one index of it
    uint64_t outer_elements() const { return shape_[cut_] * row_elements_; }
};

// Whether an array that varies with the steps is compressed. The answer does not depend on the number of ranks.
bool is_compressed(const Storage& storage, const Shape& shape, uint64_t element_bytes);

}  // namespace tailrace
