// NetCDF's default fill value of a type: readers get it for a missing element of a variable without a fill value.
#pragma once

#include <cstddef>
#include <vector>

#include "base/type.hpp"

namespace tailrace {

std::vector<std::byte> netcdf_fill(Type type);

}  // namespace tailrace
