// What stands for an element that is not there, of a variable without a fill value: NetCDF's default of its type.
#pragma once

#include <cstddef>
#include <vector>

#include "base/type.hpp"

namespace tailrace {

std::vector<std::byte> netcdf_fill(Type type);

}  // namespace tailrace
