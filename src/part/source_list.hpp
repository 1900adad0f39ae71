// The list of sources of a virtual dataset as HDF5 stores it: one block in the metadata, in the layout of the HDF5 file format
// specification ("Data Layout Message", class 3, and "Dataspace Selection").
//
// RATIONALE: HDF5 copies a dataset's whole list several times while it makes the dataset, 8 microseconds a source: an index of 100
// variables over 4 parts and 10 steps took 30 ms. So HDF5 makes the dataset with one source under a placeholder's name that is as
// long as the whole list, and the list is put in its place. The unit tests compare the result with what HDF5 itself makes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "part/description.hpp"

namespace tailrace {

class SourceList {
public:
    // Whether this form can express the sources: positions below 2^32, and more than one source.
    static bool can_hold(const std::vector<Source>& sources);

    // `number` tells the placeholders of one file apart.
    SourceList(std::vector<Source> sources, size_t number);

    // The name of the file in the one source that HDF5 is given; its dataset and boxes are those of the first source.
    const std::string& placeholder() const { return placeholder_; }
    const Source& first() const { return sources_.front(); }

    // Puts the list where the placeholder's is, looking from position `near` first. Returns the position behind it.
    // Throws INTERNAL when it is not there.
    uint64_t put_into(std::span<std::byte> metadata, uint64_t near) const;

private:
    std::vector<Source> sources_;
    std::string placeholder_;
};

}  // namespace tailrace
