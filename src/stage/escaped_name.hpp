// Names of files as printable text: a name may have any byte, and lines and JSON may not.
#pragma once

#include <string>
#include <string_view>

namespace tailrace {

// Writes bytes that are not printable ASCII, and "%", as %XX.
std::string escaped_name(std::string_view name);
// The name of an escaped one. What is no code of escaped_name() stays as it is.
std::string unescaped_name(std::string_view escaped);

}  // namespace tailrace
