#include "part/hdf5_image.hpp"

#include "format/object_header.hpp"
#include "part/conventions.hpp"
#include "part/filters.hpp"
#include "part/netcdf.hpp"
#include "part/placement_driver.hpp"
#include "part/source_list.hpp"

namespace tailrace {
namespace {

// Makes the objects of one file through the placement driver.
class ImageBuilder {
public:
    ImageBuilder(const ImagePlan& plan, Capture& capture);
    void build();

private:
    void create_scales();
    void create_others();
    void create_scale_without_array(size_t dimension);
    hdf5::Dataset create(size_t array);
    hdf5::Dataset create_virtual(const Array& array, hdf5::DatasetProperties properties);
    hdf5::Dataset create_contiguous(size_t array, hdf5::DatasetProperties properties);
    hdf5::Dataset create_chunked(size_t array, hdf5::DatasetProperties properties);
    hdf5::Dataset create_packed(size_t array, hdf5::DatasetProperties properties);
    hdf5::Dataset create_dataset(const Array& array, hdf5::DatasetProperties properties);
    hdf5::Properties creation_of(const Array& array) const;

    const ImagePlan& plan_;
    const Description& description_;
    Capture& capture_;
    hdf5::FileId file_;
    hdf5::Properties link_, access_;
    AttributeWriter attributes_;
    Scales scales_;
};

ImageBuilder::ImageBuilder(const ImagePlan& plan, Capture& capture)
    : plan_(plan), description_(plan.description), capture_(capture), link_(hdf5::create_properties(H5P_LINK_CREATE)),
      access_(hdf5::create_properties(H5P_DATASET_ACCESS)),
      scales_(attributes_, description_.dimensions.size() + plan.time_dimensions()) {
    hdf5::set_utf8_names(link_);
    hdf5::set_chunk_cache(access_, 1, 0);  // no data passes through here
}

void ImageBuilder::build() {
    PlacementDriver driver(capture_);
    const KnownFilters known(description_);
    hdf5::Properties creation = hdf5::create_properties(H5P_FILE_CREATE);
    // netCDF opens a file for writing only if its root group tracks the order of its objects.
    hdf5::track_link_order(creation);
    hdf5::track_attribute_order(creation);
    hdf5::keep_attributes_compact(creation, format::kMostAttributes);
    hdf5::leave_out_times(creation);
    file_ = hdf5::create_file("the metadata image", creation, driver.access());
    attributes_.write_all(file_, description_.attributes);
    create_scales();
    create_others();
    scales_.finish();
    hdf5::close_file(std::move(file_), "the metadata image");
}

void ImageBuilder::create_scales() {
    for (size_t i = 0; i < description_.arrays.size(); ++i) {
        const Array& array = description_.arrays[i];
        if (!plan_.is_scale(array)) continue;
        hdf5::Dataset dataset = create(i);
        scales_.add(plan_.dimension_of_scale(array), std::move(dataset), array.name);
    }
    for (const size_t d : plan_.dimensions_without_array()) create_scale_without_array(d);
}

void ImageBuilder::create_others() {
    for (size_t i = 0; i < description_.arrays.size(); ++i) {
        const Array& array = description_.arrays[i];
        if (plan_.is_scale(array)) continue;
        const hdf5::Dataset dataset = create(i);
        scales_.link(dataset, plan_.dimensions_of(array));
    }
}

void ImageBuilder::create_scale_without_array(size_t dimension) {
    const Dimension& of = description_.dimensions[dimension];
    hdf5::Properties creation = hdf5::create_properties(H5P_DATASET_CREATE);
    hdf5::track_attribute_order(creation);
    hdf5::leave_out_times(creation);
    // The dataset of a dimension without values: no storage is ever allocated for it.
    hdf5::Dataset dataset =
        hdf5::create_dataset(file_, of.name, H5T_IEEE_F32BE, hdf5::create_space({of.length}), {link_, creation, H5P_DEFAULT});
    scales_.add(dimension + plan_.time_dimensions(), std::move(dataset), scale_name_without_array(of.length));
}

hdf5::Properties ImageBuilder::creation_of(const Array& array) const {
    hdf5::Properties creation = hdf5::create_properties(H5P_DATASET_CREATE);
    hdf5::track_attribute_order(creation);
    hdf5::keep_attributes_compact(creation, format::kMostAttributes);
    hdf5::leave_out_times(creation);
    const std::vector<std::byte> fill = value_of_missing(array);
    if (!fill.empty()) hdf5::set_fill(creation, memory_type(array.type), fill.data());
    return creation;
}

hdf5::Dataset ImageBuilder::create(size_t index) {
    const Array& array = description_.arrays[index];
    const hdf5::Properties creation = creation_of(array);
    const hdf5::DatasetProperties properties{link_, creation, access_};
    hdf5::Dataset dataset = array.is_virtual()        ? create_virtual(array, properties)
                            : array.packing           ? create_packed(index, properties)
                            : plan_.is_chunked(array) ? create_chunked(index, properties)
                                                      : create_contiguous(index, properties);
    attributes_.write_all(dataset, plan_.attributes(array));
    return dataset;
}

hdf5::Dataset ImageBuilder::create_dataset(const Array& array, hdf5::DatasetProperties properties) {
    const hdf5::Lengths lengths = hdf5::lengths_of(plan_.stored_shape(array));
    hdf5::Lengths most = lengths;
    if (plan_.may_grow(array)) most[0] = H5S_UNLIMITED;
    return hdf5::create_dataset(file_, array.name, stored_type(array.type), hdf5::create_space(lengths, most), properties);
}

hdf5::Dataset ImageBuilder::create_virtual(const Array& array, hdf5::DatasetProperties properties) {
    for (const Source& source : array.sources) {
        if (!source.shows_elements()) continue;
        hdf5::Lengths ends = hdf5::lengths_of(source.from.offset);
        for (size_t d = 0; d < ends.size(); ++d) ends[d] += source.from.count[d];
        const hdf5::Space from = hdf5::create_space(ends), to = hdf5::create_space(hdf5::lengths_of(plan_.stored_shape(array)));
        hdf5::select(from, hdf5::lengths_of(source.from.offset), hdf5::lengths_of(source.from.count));
        hdf5::select(to, hdf5::lengths_of(source.to.offset), hdf5::lengths_of(source.to.count));
        hdf5::set_virtual(properties.creation, to, as_pattern(source.file), as_pattern(array.name + source.suffix), from);
    }
    return create_dataset(array, properties);
}

hdf5::Dataset ImageBuilder::create_contiguous(size_t index, hdf5::DatasetProperties properties) {
    const Array& array = description_.arrays[index];
    const uint64_t bytes = bytes_of(description_, array);
    hdf5::set_allocation(properties.creation, H5D_ALLOC_TIME_EARLY);
    hdf5::never_write_fill(properties.creation);
    if (bytes > 0) capture_.place_next({{plan_.address(index), bytes}});
    hdf5::Dataset dataset = create_dataset(array, properties);
    if (bytes > 0) capture_.end_placing(array.name);
    return dataset;
}

hdf5::Dataset ImageBuilder::create_chunked(size_t index, hdf5::DatasetProperties properties) {
    const Array& array = description_.arrays[index];
    const Shape chunk = plan_.chunk(array);
    std::vector<Extent> extents = plan_.chunk_extents(index);
    const uint64_t chunk_bytes = volume(chunk) * type_bytes(array.type);
    hdf5::set_chunk(properties.creation, hdf5::lengths_of(chunk));
    hdf5::never_write_fill(properties.creation);
    // With fixed lengths and early allocation, HDF5 allocates all chunks as one extent. With late allocation it allocates them one
    // by one at the first write. The driver records that write and does not perform it, so its bytes do not matter.
    const bool early = description_.time_unlimited, empty = extents.empty();
    hdf5::set_allocation(properties.creation, early ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE);
    capture_.place_next(std::move(extents));
    hdf5::Dataset dataset = create_dataset(array, properties);
    if (!early && !empty) hdf5::write_chunk(dataset, hdf5::Lengths(chunk.size(), 0), chunk_bytes, &chunk_bytes);
    capture_.end_placing(array.name);
    return dataset;
}

// HDF5 allocates the chunks one by one as they are written. The driver does not perform the writes, so their bytes do not matter.
hdf5::Dataset ImageBuilder::create_packed(size_t index, hdf5::DatasetProperties properties) {
    const Array& array = description_.arrays[index];
    const ChunkGrid& grid = array.packing->grid;
    const std::vector<Extent>& places = plan_.chunks.at(index);
    hdf5::Lengths chunk = hdf5::lengths_of(grid.chunk());
    chunk.insert(chunk.begin(), 1);
    hdf5::set_chunk(properties.creation, chunk);
    set_filters(properties.creation, array.packing->filters);
    hdf5::set_allocation(properties.creation, H5D_ALLOC_TIME_INCR);
    hdf5::Dataset dataset = create_dataset(array, properties);
    capture_.place_next(places);
    for (size_t k = 0; k < places.size(); ++k)
        hdf5::write_chunk(dataset, hdf5::lengths_of(grid.offset(k / grid.count(), k % grid.count())), places[k].bytes,
                          places.data());
    capture_.end_placing(array.name);
    return dataset;
}

}  // namespace

Image hdf5_image(const ImagePlan& plan) {
    const hdf5::Quiet quiet;
    Capture capture(plan.metadata_address, plan.reserved_end);
    ImageBuilder(plan, capture).build();
    Image image;
    image.superblock.assign(capture.superblock().begin(), capture.superblock().end());
    image.metadata_address = capture.metadata_address();
    image.metadata.assign(capture.metadata().begin(), capture.metadata().end());
    image.file_bytes = capture.file_bytes();
    return image;
}

}  // namespace tailrace
