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
// The number of the variable, and that of the box, that an array's name stands for. Throws CORRUPT if there is no such variable.
std::pair<size_t, uint64_t> variable_of_block(const Definitions& definitions, const std::string& array);

}  // namespace tailrace
