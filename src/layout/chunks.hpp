// The chunks of a compressed array: a regular grid, each chunk of which is one run of elements in file order (C order). So what
// ranks compress can end where chunks do, and a chunk is put together like any other run.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/box.hpp"
#include "layout/layout.hpp"

namespace tailrace {

// Readers keep a chunk or a few in memory: netCDF 16 MiB of them, HDF5 1 MiB unless told otherwise.
constexpr uint64_t kChunkBytes = 1u << 20;
constexpr uint64_t kLeastChunkBytes = 32u << 10, kMostChunkBytes = 2u << 30;
// Smaller arrays (of one step) are stored as they are: the metadata of a chunk and the page that it begins on cost what is saved.
constexpr uint64_t kLeastCompressedBytes = 32u << 10;

class ChunkGrid {
public:
    ChunkGrid() = default;
    // Of an array with elements, of one dimension or more.
    ChunkGrid(const Extents& shape, uint64_t element_bytes, uint64_t chunk_bytes);

    // The grid of these chunks; nothing where they are not runs of elements.
    static std::optional<ChunkGrid> of(const Extents& shape, const Extents& chunk);

    // The extents of a chunk: those at the array's end reach beyond it, and are stored whole.
    const Extents& chunk() const { return chunk_; }
    uint64_t count() const { return outer_ * rows_; }
    // The elements in file order that a chunk holds: [begin(c), begin(c + 1)).
    uint64_t begin(uint64_t chunk) const;
    uint64_t at(uint64_t element) const;               // the chunk of an element
    uint64_t whole() const { return volume(chunk_); }  // elements as stored
    // Of its first element, in the array.
    Extents offset(uint64_t chunk) const;
    // The same with the leading time dimension.
    Extents offset(uint64_t step, uint64_t chunk) const;
    // What of it lies in the array.
    Box box(uint64_t chunk) const;
    bool operator==(const ChunkGrid&) const = default;

private:
    void cut(size_t dimension);
    Extents shape_, chunk_;
    size_t cut_ = 0;                                    // the dimension that is cut in pieces; those before it are cut in ones
    uint64_t outer_ = 0, rows_ = 0, row_elements_ = 0;  // indices before the cut; pieces of the cut; elements of one of its indices
    uint64_t outer_elements() const { return shape_[cut_] * row_elements_; }
};

// Whether an array that varies with the steps is compressed; the same whatever ranks there are.
bool is_compressed(const Storage& storage, const Extents& shape, uint64_t element_bytes);

}  // namespace tailrace
