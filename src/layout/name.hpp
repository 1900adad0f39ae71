// Names of dimensions, variables and attributes, as a NetCDF file may have them, and names of streams.
#pragma once

#include <string>
#include <string_view>

namespace tailrace {

bool is_utf8(std::string_view text);
// The name in Unicode's form NFC, as netCDF stores and looks for names. What is not UTF-8 stays as it is.
std::string nfc(std::string name);
// Throws BAD_ARGUMENT for a name that a NetCDF file cannot have. The message says that it is the name of `of`.
void check_name(const std::string& of, const std::string& name);
// Throws BAD_ARGUMENT for a name of a stream that would not stay in its directory, or cannot begin the names of its files.
void check_stream_name(const std::string& name);

}  // namespace tailrace
