#include "part/image.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "part/filters.hpp"
#include "part/netcdf.hpp"
#include "part/placement_driver.hpp"
#include "part/source_list.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMaxChunkBytes = (uint64_t{1} << 32) - 1;  // of HDF5
constexpr uint64_t kMaxChunksAStep = 65536;                   // each has an entry in the metadata
constexpr unsigned kMaxCompactAttributes = 64;  // beyond these HDF5 makes a heap and two trees for one object's attributes

// The chunk of an array whose steps are each one run of bytes in the file: a step, or where that has 4 GiB or more, an equal
// share of it. Shares are of one size and leave no rest: a chunk is stored whole, and would reach into the next array.
hdf5::Lengths chunk_of(const Array& array, const Extents& extents) {
    hdf5::Lengths chunk(extents.begin(), extents.end());
    chunk[0] = 1;
    for (auto& length : chunk) length = std::max<hsize_t>(length, 1);
    uint64_t bytes = type_bytes(array.type), chunks = 1;
    for (const hsize_t length : chunk) bytes *= length;
    for (size_t d = 1; d < chunk.size() && bytes > kMaxChunkBytes; ++d) {
        const uint64_t row = bytes / chunk[d];
        uint64_t shares =
            std::min<uint64_t>(chunk[d], row > kMaxChunkBytes ? chunk[d] : (bytes + kMaxChunkBytes - 1) / kMaxChunkBytes);
        while (chunk[d] % shares != 0 && shares <= kMaxChunksAStep) ++shares;
        chunks *= shares;
        if (chunks > kMaxChunksAStep) break;
        bytes /= shares;
        chunk[d] /= shares;
    }
    if (chunks > kMaxChunksAStep)
        fail(Status::UNSUPPORTED, "a step of '", array.name, "' has ",
             volume(extents) / std::max<uint64_t>(extents[0], 1) * type_bytes(array.type),
             " bytes and its extents have no divisor that makes few pieces below 4 GiB of it; choose other extents, more files, or "
             "steps = 1");
    return chunk;
}

// HDF5 takes the names of a virtual dataset's sources for patterns, in which a percent sign is written twice.
std::string as_pattern(const std::string& name) {
    std::string pattern;
    for (const char c : name) pattern.append(c == '%' ? 2 : 1, c);
    return pattern;
}

// Makes the objects of one file through the placement driver.
class ImageBuilder {
public:
    ImageBuilder(const Description& description, const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t steps,
                 const ChunkPlaces& chunks, Capture& capture);
    void build();

private:
    size_t time_dimensions() const { return description_.time_name.empty() ? 0 : 1; }
    std::vector<size_t> scales_of(const Array& array) const;
    bool is_scale(const Array& array) const { return is_time(description_, array) || coordinate_of(description_, array) >= 0; }
    bool is_chunked(const Array& array) const { return array.varies && (steps_ != 1 || description_.time_unlimited); }

    void create_scales();
    void create_others();
    void create_anonymous_scale(size_t dimension);
    hdf5::Dataset create(size_t array);
    hdf5::Dataset create_virtual(const Array& array, hdf5::DatasetProperties properties);
    void add_source(hdf5::DatasetProperties properties, const Array& array, const Source& source, const std::string& file) const;
    hdf5::Dataset create_contiguous(size_t array, hdf5::DatasetProperties properties);
    hdf5::Dataset create_chunked(size_t array, hdf5::DatasetProperties properties);
    hdf5::Dataset create_packed(size_t array, hdf5::DatasetProperties properties);
    hdf5::Properties creation_of(const Array& array) const;
    void write_attributes(hid_t dataset, const Array& array) const;

    const Description& description_;
    const Placement& placement_;
    const uint64_t steps_;
    const ChunkPlaces& chunks_;
    Capture& capture_;
    hdf5::FileId file_;
    hdf5::Properties link_, access_;
    AttributeWriter attributes_;
    Scales scales_;
    std::vector<uint64_t> step_addresses_;
    std::vector<SourceList> source_lists_;
    std::vector<uint64_t> place_;  // of each array: its address if it is static, its offset within a step if it varies
};

ImageBuilder::ImageBuilder(const Description& description, const Placement& placement, const std::vector<StepBlock>& blocks,
                           uint64_t steps, const ChunkPlaces& chunks, Capture& capture)
    : description_(description), placement_(placement), steps_(steps), chunks_(chunks), capture_(capture),
      link_(hdf5::create_properties(H5P_LINK_CREATE)), access_(hdf5::create_properties(H5P_DATASET_ACCESS)),
      scales_(attributes_, description.dimensions.size() + time_dimensions()), place_(places_of(description, placement)) {
    hdf5::set_utf8_names(link_);
    hdf5::set_chunk_cache(access_, 1, 0);  // no data passes through here
    for (const StepBlock& block : blocks)
        for (uint64_t s = 0; s < block.steps && step_addresses_.size() < steps; ++s)
            step_addresses_.push_back(block.address + s * placement.step_pitch());
    for (const Array& array : description.arrays)
        if (array.is_placed() && array.varies && step_addresses_.size() < steps)
            fail(Status::INTERNAL, "only ", step_addresses_.size(), " of ", steps, " steps are laid out");
}

void ImageBuilder::build() {
    PlacementDriver driver(capture_);
    const KnownFilters known(description_);
    hdf5::Properties creation = hdf5::create_properties(H5P_FILE_CREATE);
    // netCDF opens no file for writing whose root does not know the order of its objects.
    hdf5::track_link_order(creation);
    hdf5::track_attribute_order(creation);
    hdf5::keep_attributes_compact(creation, kMaxCompactAttributes);
    hdf5::leave_out_times(creation);
    file_ = hdf5::create_file("the metadata image", creation, driver.access());
    attributes_.write_all(file_, description_.attributes);
    create_scales();
    create_others();
    scales_.finish();
    hdf5::close_file(std::move(file_), "the metadata image");
    uint64_t position = 0;
    for (const SourceList& list : source_lists_) position = list.put_into(capture_.metadata(), position);
}

void ImageBuilder::create_scales() {
    std::vector<bool> has_array(description_.dimensions.size(), false);
    for (size_t i = 0; i < description_.arrays.size(); ++i) {
        const Array& array = description_.arrays[i];
        if (!is_scale(array)) continue;
        const int coordinate = is_time(description_, array) ? -1 : coordinate_of(description_, array);
        if (coordinate >= 0) has_array[coordinate] = true;
        const size_t dimension = coordinate < 0 ? 0 : coordinate + time_dimensions();
        hdf5::Dataset dataset = create(i);
        scales_.add(dimension, std::move(dataset), array.name);
    }
    for (size_t d = 0; d < has_array.size(); ++d)
        if (!has_array[d]) create_anonymous_scale(d);
}

void ImageBuilder::create_others() {
    for (size_t i = 0; i < description_.arrays.size(); ++i) {
        const Array& array = description_.arrays[i];
        if (is_scale(array)) continue;
        const hdf5::Dataset dataset = create(i);
        scales_.link(dataset, scales_of(array));
    }
}

std::vector<size_t> ImageBuilder::scales_of(const Array& array) const {
    std::vector<size_t> scales;
    if (array.varies) scales.push_back(0);
    for (const int d : array.dims) scales.push_back(d + time_dimensions());
    return scales;
}

void ImageBuilder::create_anonymous_scale(size_t dimension) {
    const Dimension& of = description_.dimensions[dimension];
    hdf5::Properties creation = hdf5::create_properties(H5P_DATASET_CREATE);
    hdf5::track_attribute_order(creation);
    hdf5::leave_out_times(creation);
    // Never allocated: it has a length and no values.
    hdf5::Dataset dataset =
        hdf5::create_dataset(file_, of.name, H5T_IEEE_F32BE, hdf5::create_space({of.length}), {link_, creation, H5P_DEFAULT});
    scales_.add(dimension + time_dimensions(), std::move(dataset), scale_name_without_array(of.length));
}

hdf5::Properties ImageBuilder::creation_of(const Array& array) const {
    hdf5::Properties creation = hdf5::create_properties(H5P_DATASET_CREATE);
    hdf5::track_attribute_order(creation);
    hdf5::keep_attributes_compact(creation, kMaxCompactAttributes);
    hdf5::leave_out_times(creation);
    const auto& fill = fill_of(array);
    if (!fill.empty()) hdf5::set_fill(creation, memory_type(array.type), fill.data());
    return creation;
}

hdf5::Dataset ImageBuilder::create(size_t index) {
    const Array& array = description_.arrays[index];
    const hdf5::Properties creation = creation_of(array);
    const hdf5::DatasetProperties properties{link_, creation, access_};
    hdf5::Dataset dataset = array.is_virtual()  ? create_virtual(array, properties)
                            : array.packing     ? create_packed(index, properties)
                            : is_chunked(array) ? create_chunked(index, properties)
                                                : create_contiguous(index, properties);
    write_attributes(dataset, array);
    return dataset;
}

hdf5::Dataset ImageBuilder::create_virtual(const Array& array, hdf5::DatasetProperties properties) {
    std::vector<Source> sources;
    for (const Source& source : array.sources) {
        if (source.to.elements() == 0) continue;
        if (array.varies && (source.to.count[0] > steps_ || source.to.offset[0] > steps_ - source.to.count[0]))
            fail(Status::BAD_SHAPE, "'", array.name, "' cannot show ", describe(source.to), " of ", source.file, ": there are ",
                 steps_, " steps");
        sources.push_back(source);
    }
    if (SourceList::can_hold(sources)) {
        source_lists_.emplace_back(std::move(sources), source_lists_.size());
        add_source(properties, array, source_lists_.back().first(), source_lists_.back().placeholder());
    } else {
        for (const Source& source : sources) add_source(properties, array, source, as_pattern(source.file));
    }
    const Extents extents = extents_of(description_, array, steps_);
    return hdf5::create_dataset(file_, array.name, stored_type(array.type), hdf5::create_space({extents.begin(), extents.end()}),
                                properties);
}

void ImageBuilder::add_source(hdf5::DatasetProperties properties, const Array& array, const Source& source,
                              const std::string& file) const {
    const auto lengths = [](const Extents& extents) { return hdf5::Lengths(extents.begin(), extents.end()); };
    hdf5::Lengths ends = lengths(source.from.offset);
    for (size_t d = 0; d < ends.size(); ++d) ends[d] += source.from.count[d];
    const hdf5::Space from = hdf5::create_space(ends), to = hdf5::create_space(lengths(extents_of(description_, array, steps_)));
    hdf5::select(from, lengths(source.from.offset), lengths(source.from.count));
    hdf5::select(to, lengths(source.to.offset), lengths(source.to.count));
    hdf5::set_virtual(properties.creation, to, file, as_pattern(source.dataset), from);
}

hdf5::Dataset ImageBuilder::create_contiguous(size_t index, hdf5::DatasetProperties properties) {
    const Array& array = description_.arrays[index];
    const Extents extents = extents_of(description_, array, steps_);
    const uint64_t bytes = bytes_of(description_, array);
    hdf5::set_allocation(properties.creation, H5D_ALLOC_TIME_EARLY);
    hdf5::never_write_fill(properties.creation);
    if (bytes > 0) capture_.place_next({{place_[index] + (array.varies ? step_addresses_[0] : 0), bytes}});
    hdf5::Dataset dataset = hdf5::create_dataset(file_, array.name, stored_type(array.type),
                                                 hdf5::create_space({extents.begin(), extents.end()}), properties);
    if (bytes > 0) capture_.end_placing(array.name);
    return dataset;
}

hdf5::Dataset ImageBuilder::create_chunked(size_t index, hdf5::DatasetProperties properties) {
    const Array& array = description_.arrays[index];
    const Extents extents = extents_of(description_, array, steps_);
    const hdf5::Lengths lengths(extents.begin(), extents.end());
    const hdf5::Lengths chunk = chunk_of(array, extents);
    uint64_t chunk_bytes = type_bytes(array.type);
    for (const hsize_t length : chunk) chunk_bytes *= length;
    const uint64_t step_bytes = bytes_of(description_, array);
    std::vector<Extent> extents_of_chunks;
    for (const uint64_t step : step_addresses_)
        for (uint64_t at = 0; at < step_bytes; at += chunk_bytes)
            extents_of_chunks.push_back({step + place_[index] + at, chunk_bytes});

    hdf5::set_chunk(properties.creation, chunk);
    hdf5::never_write_fill(properties.creation);
    hdf5::Lengths most = lengths;
    if (description_.time_unlimited) most[0] = H5S_UNLIMITED;
    // Fixed extents with early allocation would make HDF5 take all chunks as one piece. Late, it takes them one by one at the first
    // write; that write is recorded and not performed, its bytes are never looked at.
    const bool early = description_.time_unlimited;
    hdf5::set_allocation(properties.creation, early ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE);
    const bool empty = extents_of_chunks.empty();
    capture_.place_next(std::move(extents_of_chunks));
    hdf5::Dataset dataset =
        hdf5::create_dataset(file_, array.name, stored_type(array.type), hdf5::create_space(lengths, most), properties);
    if (!early && !empty) hdf5::write_chunk(dataset, hdf5::Lengths(lengths.size(), 0), chunk_bytes, &chunk_bytes);
    capture_.end_placing(array.name);
    return dataset;
}

// HDF5 takes the chunks one by one, as if they were written compressed; their bytes are never looked at.
hdf5::Dataset ImageBuilder::create_packed(size_t index, hdf5::DatasetProperties properties) {
    const Array& array = description_.arrays[index];
    const Extents extents = extents_of(description_, array, steps_);
    const ChunkGrid& grid = array.packing->grid;
    const std::vector<Extent>& places = chunks_.at(index);
    hdf5::Lengths lengths(extents.begin(), extents.end()), chunk(grid.chunk().begin(), grid.chunk().end());
    chunk.insert(chunk.begin(), 1);
    hdf5::set_chunk(properties.creation, chunk);
    set_filters(properties.creation, array.packing->filters);
    hdf5::set_allocation(properties.creation, H5D_ALLOC_TIME_INCR);
    hdf5::never_write_fill(properties.creation);
    hdf5::Lengths most = lengths;
    if (description_.time_unlimited) most[0] = H5S_UNLIMITED;
    hdf5::Dataset dataset =
        hdf5::create_dataset(file_, array.name, stored_type(array.type), hdf5::create_space(lengths, most), properties);
    capture_.place_next(places);
    for (size_t k = 0; k < places.size(); ++k)
        hdf5::write_chunk(dataset, chunk_offset(grid, k / grid.count(), k % grid.count()), places[k].bytes, places.data());
    capture_.end_placing(array.name);
    return dataset;
}

void ImageBuilder::write_attributes(hid_t dataset, const Array& array) const {
    if (!array.fill.empty() && &fill_of(array) == &array.fill)
        attributes_.write(dataset, number_attribute("_FillValue", array.type, 1, array.fill.data()));
    attributes_.write_all(dataset, array.attributes);
}

// Behind everything that the placement gave away, so that tools which append never take it.
uint64_t reserved_end(const Placement& placement, const std::vector<StepBlock>& blocks) {
    uint64_t end =
        placement.bytes().static_bytes.empty() ? kSuperblockBytes : placement.static_seal() + placement.bytes().seal_bytes;
    for (const StepBlock& block : blocks) end = std::max(end, block_end(placement, block));
    return end;
}

void check_free(const Image& image, const Placement& placement, const std::vector<StepBlock>& blocks) {
    const uint64_t first = image.metadata_address, last = first + image.metadata.size();
    for (const StepBlock& block : blocks)
        if (first < block_end(placement, block) && block.address < last)
            fail(Status::INTERNAL, "metadata at ", first, " to ", last, " lies in the steps at ", block.address);
    if (!placement.bytes().static_bytes.empty() && first < placement.static_seal() + placement.bytes().seal_bytes)
        fail(Status::INTERNAL, "metadata at ", first, " lies in the static arrays");
}

}  // namespace

PartBytes part_bytes(const Description& description, uint64_t seal_bytes) {
    PartBytes bytes;
    bytes.seal_bytes = seal_bytes;
    for (const Array& array : description.arrays) {
        if (!array.is_placed()) continue;
        (array.varies ? bytes.step_bytes : bytes.static_bytes).push_back(bytes_of(description, array));
    }
    return bytes;
}

std::vector<uint64_t> places_of(const Description& description, const Placement& placement) {
    std::vector<uint64_t> result(description.arrays.size(), 0);
    size_t fixed = 0, varying = 0;
    for (size_t i = 0; i < result.size(); ++i) {
        const Array& array = description.arrays[i];
        if (!array.is_placed()) continue;
        const auto& places = array.varies ? placement.step_offsets() : placement.static_addresses();
        const auto& sizes = array.varies ? placement.bytes().step_bytes : placement.bytes().static_bytes;
        size_t& next = array.varies ? varying : fixed;
        if (next == places.size() || sizes[next] != bytes_of(description, array))
            fail(Status::INTERNAL, "the placement is of other arrays: '", array.name, "' has ", bytes_of(description, array),
                 " bytes");
        result[i] = places[next++];
    }
    return result;
}

Image make_image(const Description& description, const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t steps,
                 uint64_t metadata_address, const ChunkPlaces& chunks) {
    check(description);
    const hdf5::Quiet quiet;
    Capture capture(metadata_address, reserved_end(placement, blocks));
    ImageBuilder(description, placement, blocks, steps, chunks, capture).build();
    Image image;
    image.superblock.assign(capture.superblock().begin(), capture.superblock().end());
    image.metadata_address = capture.metadata_address();
    image.metadata.assign(capture.metadata().begin(), capture.metadata().end());
    image.file_bytes = capture.file_bytes();
    check_free(image, placement, blocks);
    for (const Extent& written : capture.raw_writes())
        if (image.metadata_address < written.address + written.bytes &&
            written.address < image.metadata_address + image.metadata.size())
            fail(Status::INTERNAL, "metadata at ", image.metadata_address, " lies in the chunk at ", written.address);
    return image;
}

void put_in_force(File& out, const Image& image) {
    out.write_at(image.metadata_address, image.metadata.data(), image.metadata.size());
    if (out.size_bytes() != image.file_bytes) out.set_size(image.file_bytes);
    out.write_at(0, image.superblock.data(), image.superblock.size());
}

}  // namespace tailrace
