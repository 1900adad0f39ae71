// In a stream of several parts, each box of a variable is an array of its own: NAME, NAME.1, NAME.2 ...
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "record/definitions.hpp"

namespace tailrace {

std::string block_suffix(uint64_t block);  // empty for box 0
// `array`: the variable's Definitions::array_name().
std::string block_name(const std::string& array, uint64_t block);
// The numbers of the variable and of the box that an array has. Throws CORRUPT for a name that is of no variable.
std::pair<size_t, uint64_t> variable_of_block(const Definitions& definitions, const std::string& array);

}  // namespace tailrace
