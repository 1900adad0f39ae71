// What both ways of making an image start from: the description with the address of everything that is stored.
#pragma once

#include <cstdint>
#include <vector>

#include "part/image.hpp"

namespace tailrace {

struct ImagePlan {
    const Description& description;
    uint64_t steps;  // that readers see
    uint64_t metadata_address;
    uint64_t reserved_end;                 // all of the file below is somebody's, even if no array of this description lies there
    std::vector<uint64_t> step_addresses;  // of `steps` steps, or none if nothing is placed in them
    std::vector<uint64_t> places;          // of each array: its address if it is static, its offset within a step if it varies
    const ChunkPlaces& chunks;

    // The arrays that are scales of dimensions come before the others: in netCDF's order of objects, and since lists of scales need
    // their addresses.
    bool is_scale(const Array& array) const { return is_time(description, array) || coordinate_of(description, array) >= 0; }
    // The number of the dimension that a scale is of; time is the first, if there is time.
    size_t dimension_of_scale(const Array& array) const {
        return is_time(description, array) ? 0 : static_cast<size_t>(coordinate_of(description, array)) + time_dimensions();
    }
    size_t time_dimensions() const { return description.time_name.empty() ? 0 : 1; }
    // The dimensions of an array, by number.
    std::vector<size_t> dimensions_of(const Array& array) const;
    // The fixed dimensions that no array is the coordinate of, by their index in the description.
    std::vector<size_t> dimensions_without_array() const;

    bool is_chunked(const Array& array) const { return array.varies && (steps != 1 || description.time_unlimited); }
    Extents extents(const Array& array) const { return extents_of(description, array, steps); }
    // Of an array in one run of bytes.
    uint64_t address(size_t array) const { return places[array] + (description.arrays[array].varies ? step_addresses[0] : 0); }
    // The chunk of an array that is placed: a step, or where that has 4 GiB or more, an equal share of it. Shares are of one size
    // and leave no rest: a chunk is stored whole, and would reach into the next array. Throws UNSUPPORTED where there are none.
    Extents chunk(const Array& array) const;
    // Its chunks in the file, step by step.
    std::vector<Extent> chunk_extents(size_t array) const;
    // Its own and, where none of them says it, the fill value.
    std::vector<Attribute> attributes(const Array& array) const;
    // Throws BAD_SHAPE for sources that show steps that there are not.
    void check_sources() const;
};

}  // namespace tailrace
