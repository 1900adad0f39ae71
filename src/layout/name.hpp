// Names of dimensions, variables and attributes, as a NetCDF file may have them, and names of streams.
#pragma once

#include <string>
#include <string_view>

namespace tailrace {

bool is_utf8(std::string_view text);
// The name in Unicode's normal form NFC, in which netCDF stores and looks for names. Text that is not UTF-8 is returned unchanged.
std::string nfc(std::string name);
// Throws BAD_ARGUMENT for a name that a NetCDF file cannot have. `of`: what has the name, for the message.
void check_name(const std::string& of, const std::string& name);
// Throws BAD_ARGUMENT for a name of a stream that would not stay in its directory, or cannot begin the names of its files.
void check_stream_name(const std::string& name);

}  // namespace tailrace
