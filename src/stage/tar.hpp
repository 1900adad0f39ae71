// Headers of tar members, in POSIX' format of 2001 (pax).
#pragma once

#include <string>

#include "stage/item.hpp"

namespace tailrace {

constexpr size_t kTarBlock = 512;

// The tar header of the item, as whole blocks of kTarBlock bytes; with an extended header if the name is long or the size is large.
std::string tar_header(const Item& item);

}  // namespace tailrace
