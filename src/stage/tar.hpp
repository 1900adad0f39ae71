// Headers of tar members, in POSIX' format of 2001 (pax).
#pragma once

#include <string>
#include <vector>

#include "stage/attributes.hpp"
#include "stage/item.hpp"

namespace tailrace {

constexpr size_t kTarBlock = 512;

// The tar header of the item, as whole blocks of kTarBlock bytes; with an extended header if the name is long, the size is large,
// or the file has extended attributes. These are written as GNU tar does with --xattrs.
std::string tar_header(const Item& item, const std::vector<Attribute>& attributes);

}  // namespace tailrace
