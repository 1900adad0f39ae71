// The list of sources of a virtual dataset as HDF5 stores it: one piece in the global heap, in the layout of the HDF5 file format
// specification ("Data Layout Message", class 3, and "Dataspace Selection").
#pragma once

#include <vector>

#include "format/bytes.hpp"
#include "part/description.hpp"

namespace tailrace {

// HDF5 takes the names of a virtual dataset's sources for patterns, in which a percent sign is written twice.
std::string as_pattern(const std::string& name);

constexpr uint64_t kExpectedSourceBytes = 192;  // of one source, about

// Of the sources that show elements.
format::Bytes source_list(const std::vector<Source>& sources);

}  // namespace tailrace
