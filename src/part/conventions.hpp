// The names of attributes by which HDF5's dimension scales and netCDF make an HDF5 file a NetCDF-4 file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace tailrace {

constexpr const char* kScaleClassAttribute = "CLASS";
constexpr const char* kScaleClass = "DIMENSION_SCALE";
constexpr const char* kScaleNameAttribute = "NAME";
constexpr const char* kScalesAttribute = "DIMENSION_LIST";  // of an array: for each dimension a list of its scales
constexpr const char* kUsesAttribute = "REFERENCE_LIST";    // of a scale: the arrays that use it
constexpr const char* kDimensionAttribute = "_Netcdf4Dimid";
constexpr const char* kFillAttribute = "_FillValue";

// The name that netCDF gives to the scale of a dimension without a coordinate array.
inline std::string scale_name_without_array(uint64_t length) {
    char name[96];
    std::snprintf(name, sizeof name, "This is a netCDF dimension but not a netCDF variable.%10llu",
                  static_cast<unsigned long long>(length));
    return name;
}

}  // namespace tailrace
