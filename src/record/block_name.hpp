// The name of an array that holds one box of a variable, in a part of several: the variable's, and a number behind it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "record/definitions.hpp"

namespace tailrace {

std::string block_suffix(uint64_t block);  // box 0 has the variable's own name
std::string block_name(const std::string& variable, uint64_t block);
// The other way: the variable's number and the box's. Throws CORRUPT for a name that is of no variable.
std::pair<size_t, uint64_t> variable_of_block(const Definitions& definitions, const std::string& array);

}  // namespace tailrace
