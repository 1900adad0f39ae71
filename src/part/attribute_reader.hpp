// Reads the names of a part's arrays, and their attributes.
#pragma once

#include <string>
#include <vector>

#include "layout/attribute.hpp"

namespace tailrace {

// The names of all datasets of the file. Throws CORRUPT if it is not an HDF5 file, or its root has anything but datasets.
std::vector<std::string> array_names(const std::string& path);
// The attributes of an array, or of the file if `array` is empty; without those that make the file a NetCDF-4 file and those of the
// seals. Throws UNSUPPORTED for an attribute that is neither text nor numbers.
std::vector<Attribute> read_attributes(const std::string& path, const std::string& array);

}  // namespace tailrace
