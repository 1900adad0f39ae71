#include "layout/chunks.hpp"

#include <algorithm>

namespace tailrace {

ChunkGrid::ChunkGrid(const Shape& shape, uint64_t element_bytes, uint64_t chunk_bytes) : shape_(shape), chunk_(shape) {
    const uint64_t most = std::max<uint64_t>((chunk_bytes > 0 ? chunk_bytes : kChunkBytes) / element_bytes, 1);
    size_t d = 0;
    uint64_t row_elements = volume(shape) / shape[0];
    while (row_elements > most && d + 1 < shape.size()) {
        chunk_[d] = 1;
        row_elements /= shape[++d];
    }
    // Makes chunks of nearly equal length, so that the last one reaches little beyond the array.
    const uint64_t longest = std::max<uint64_t>(most / row_elements, 1), count = (shape[d] + longest - 1) / longest;
    chunk_[d] = (shape[d] + count - 1) / count;
    cut(d);
}

std::optional<ChunkGrid> ChunkGrid::of(const Shape& shape, const Shape& chunk) {
    if (shape.empty() || chunk.size() != shape.size() || volume(shape) == 0) return std::nullopt;
    size_t d = 0;
    while (d + 1 < shape.size() && chunk[d] == 1) ++d;
    // A chunk has length 1 before the cut, and the whole length after it. A dimension of length 1 is both.
    while (d > 0 && chunk[d] == shape[d]) --d;
    if (chunk[d] == 0 || chunk[d] > shape[d] ||
        !std::equal(shape.begin() + static_cast<long>(d) + 1, shape.end(), chunk.begin() + static_cast<long>(d) + 1))
        return std::nullopt;
    ChunkGrid grid;
    grid.shape_ = shape;
    grid.chunk_ = chunk;
    grid.cut(d);
    return grid;
}

void ChunkGrid::cut(size_t dimension) {
    cut_ = dimension;
    outer_ = row_elements_ = 1;
    for (size_t d = 0; d < cut_; ++d) outer_ *= shape_[d];
    for (size_t d = cut_ + 1; d < shape_.size(); ++d) row_elements_ *= shape_[d];
    rows_ = (shape_[cut_] + chunk_[cut_] - 1) / chunk_[cut_];
}

uint64_t ChunkGrid::begin(uint64_t chunk) const {
    return chunk / rows_ * outer_elements() + std::min(chunk % rows_ * chunk_[cut_], shape_[cut_]) * row_elements_;
}

uint64_t ChunkGrid::at(uint64_t element) const {
    return element / outer_elements() * rows_ + element % outer_elements() / row_elements_ / chunk_[cut_];
}

Shape ChunkGrid::offset(uint64_t chunk) const {
    Shape offset(shape_.size(), 0);
    offset[cut_] = chunk % rows_ * chunk_[cut_];
    uint64_t rest = chunk / rows_;
    for (size_t d = cut_; d-- > 0; rest /= shape_[d]) offset[d] = rest % shape_[d];
    return offset;
}

Shape ChunkGrid::offset(uint64_t step, uint64_t chunk) const {
    Shape offset = this->offset(chunk);
    offset.insert(offset.begin(), step);
    return offset;
}

Box ChunkGrid::box(uint64_t chunk) const {
    Box box{offset(chunk), chunk_};
    for (size_t d = 0; d < shape_.size(); ++d) box.count[d] = std::min(box.count[d], shape_[d] - box.offset[d]);
    return box;
}

bool is_compressed(const Storage& storage, const Shape& shape, uint64_t element_bytes) {
    return storage.compression.kind != Compression::Kind::none && !shape.empty() &&
           volume(shape) * element_bytes >= kLeastCompressedBytes;
}

}  // namespace tailrace
