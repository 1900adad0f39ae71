// The input of both makers of an image: the description, and the address of everything that is stored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "part/image.hpp"

namespace tailrace {

struct ImagePlan {
    const Description& description;
    uint64_t steps;  // number of steps that readers see
    uint64_t metadata_address;
    uint64_t reserved_end;                 // all addresses below it are in use, even those without an array of this description
    std::vector<uint64_t> step_addresses;  // of `steps` steps; empty if nothing is placed in them
    std::vector<uint64_t> places;          // of each array: its address if it is static, its offset within a step if it varies
    const ChunkPlaces& chunks;

    // Arrays that are scales of dimensions come before the others: netCDF has this order, and lists of scales need their
    // addresses.
    bool is_scale(const Array& array) const { return is_time(description, array) || coordinate_of(description, array) >= 0; }
    // The number of the scale's dimension. Time is the first, if there is time.
    size_t dimension_of_scale(const Array& array) const {
        return is_time(description, array) ? 0 : static_cast<size_t>(coordinate_of(description, array)) + time_dimensions();
    }
    size_t time_dimensions() const { return description.time_name.empty() ? 0 : 1; }
    // The numbers of an array's dimensions.
    std::vector<size_t> dimensions_of(const Array& array) const;
    // The fixed dimensions without a coordinate array, by their index in the description.
    std::vector<size_t> dimensions_without_array() const;

    bool is_chunked(const Array& array) const { return array.varies && (steps != 1 || description.time_unlimited); }
    // Whether the array's time is unlimited. False for a virtual array that shows no elements: it is stored as a contiguous one.
    bool may_grow(const Array& array) const {
        return description.time_unlimited && array.varies &&
               (!array.is_virtual() || std::ranges::any_of(array.sources, &Source::shows_elements));
    }
    Shape stored_shape(const Array& array) const { return tailrace::stored_shape(description, array, steps); }
    // The address of an array that is one extent.
    uint64_t address(size_t array) const { return places[array] + (description.arrays[array].varies ? step_addresses[0] : 0); }
    // The shape of a placed array's chunks: one step, or an equal part of a step of 4 GiB or more. It divides the step exactly:
    // chunks are stored whole, so a last chunk that reached beyond the array would overwrite the next array. Throws UNSUPPORTED if
    // no such shape exists.
    Shape chunk(const Array& array) const;
    // The extents of an array's chunks, step by step.
    std::vector<Extent> chunk_extents(size_t array) const;
    // The array's attributes; with _FillValue, where they do not contain it.
    std::vector<Attribute> attributes(const Array& array) const;
    // Throws BAD_SHAPE for sources that show steps beyond `steps`.
    void check_sources() const;
};

}  // namespace tailrace
