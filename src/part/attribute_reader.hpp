// What a part says about itself: the names of its arrays, and their attributes.
#pragma once

#include <string>
#include <vector>

#include "layout/attribute.hpp"

namespace tailrace {

// The names of all datasets of the file. Throws CORRUPT where it is not an HDF5 file, or has something else at its root.
std::vector<std::string> array_names(const std::string& path);
// The attributes of an array, of the file where `array` is empty; without those that make the file a NetCDF-4 file and those of the
// seals. Throws UNSUPPORTED for an attribute that is neither a text nor a list of numbers.
std::vector<Attribute> read_attributes(const std::string& path, const std::string& array);

}  // namespace tailrace
