#include "part/image_plan.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "part/conventions.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMaxChunkBytes = (uint64_t{1} << 32) - 1;  // HDF5's limit
constexpr uint64_t kMaxChunksAStep = 65536;                   // each has an entry in the metadata

}  // namespace

std::vector<size_t> ImagePlan::dimensions_of(const Array& array) const {
    std::vector<size_t> dimensions;
    if (array.varies) dimensions.push_back(0);
    for (const int d : array.dims) dimensions.push_back(static_cast<size_t>(d) + time_dimensions());
    return dimensions;
}

std::vector<size_t> ImagePlan::dimensions_without_array() const {
    std::vector<bool> has_array(description.dimensions.size(), false);
    for (const Array& array : description.arrays)
        if (const int d = coordinate_of(description, array); d >= 0) has_array[static_cast<size_t>(d)] = true;
    std::vector<size_t> without;
    for (size_t d = 0; d < has_array.size(); ++d)
        if (!has_array[d]) without.push_back(d);
    return without;
}

Shape ImagePlan::chunk(const Array& array) const {
    const Shape all = stored_shape(array);
    Shape chunk = all;
    chunk[0] = 1;
    for (auto& length : chunk) length = std::max<uint64_t>(length, 1);
    uint64_t bytes = volume(chunk) * type_bytes(array.type), chunks = 1;
    for (size_t d = 1; d < chunk.size() && bytes > kMaxChunkBytes; ++d) {
        const uint64_t row = bytes / chunk[d];
        uint64_t parts =
            std::min<uint64_t>(chunk[d], row > kMaxChunkBytes ? chunk[d] : (bytes + kMaxChunkBytes - 1) / kMaxChunkBytes);
        while (chunk[d] % parts != 0 && parts <= kMaxChunksAStep) ++parts;
        chunks *= parts;
        if (chunks > kMaxChunksAStep) break;
        bytes /= parts;
        chunk[d] /= parts;
    }
    if (chunks > kMaxChunksAStep)
        fail(Status::UNSUPPORTED, "a step of '", array.name, "' has ",
             volume(all) / std::max<uint64_t>(all[0], 1) * type_bytes(array.type),
             " bytes, and no divisor of its lengths splits it into few chunks below 4 GiB; choose other lengths, more files, or "
             "steps = 1");
    return chunk;
}

std::vector<Extent> ImagePlan::chunk_extents(size_t array) const {
    const Array& of = description.arrays[array];
    const uint64_t chunk_bytes = volume(chunk(of)) * type_bytes(of.type), step_bytes = bytes_of(description, of);
    std::vector<Extent> extents;
    for (const uint64_t step : step_addresses)
        for (uint64_t at = 0; at < step_bytes; at += chunk_bytes) extents.push_back({step + places[array] + at, chunk_bytes});
    return extents;
}

std::vector<Attribute> ImagePlan::attributes(const Array& array) const {
    std::vector<Attribute> attributes;
    if (!array.fill.empty() && &fill_of(array) == &array.fill)
        attributes.push_back(number_attribute(kFillAttribute, array.type, 1, array.fill.data()));
    attributes.insert(attributes.end(), array.attributes.begin(), array.attributes.end());
    return attributes;
}

void ImagePlan::check_sources() const {
    for (const Array& array : description.arrays)
        for (const Source& source : array.sources)
            if (array.varies && source.shows_elements() &&
                (source.to.count[0] > steps || source.to.offset[0] > steps - source.to.count[0]))
                fail(Status::BAD_SHAPE, "'", array.name, "' cannot show ", describe(source.to), " of ", source.file, ": there are ",
                     steps, " steps");
}

}  // namespace tailrace
