// Names of dimensions, variables and attributes, as a NetCDF file may have them.
#pragma once

#include <string>
#include <string_view>

namespace tailrace {

bool is_utf8(std::string_view text);
// Throws BAD_ARGUMENT for a name that a NetCDF file cannot have. The message says that it is the name of `of`.
void check_name(const std::string& of, const std::string& name);

}  // namespace tailrace
