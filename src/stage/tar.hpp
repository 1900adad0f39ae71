// Headers of tar members, in POSIX' format of 2001 (pax).
#pragma once

#include <string>

#include "stage/item.hpp"

namespace tailrace {

constexpr size_t kTarBlock = 512;

// The header of the item, as whole blocks; with an extended header where a name is long or a size is large.
std::string tar_header(const Item& item);

}  // namespace tailrace
