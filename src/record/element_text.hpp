// Compares elements of any type, and writes them as text for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/type.hpp"
#include "layout/attribute.hpp"

namespace tailrace {

// A number with all its digits; a character in quotes.
std::string element_text(Type type, const std::byte* element);
// An attribute's value: text in quotes, or its first numbers and their type; "none" for nullptr.
std::string attribute_text(const Attribute* attribute);
// The index of the first element that is different in `a` and `b`, or `count`. NaN is equal to NaN, and 0 to -0.
uint64_t first_difference(Type type, const std::byte* a, const std::byte* b, uint64_t count);

}  // namespace tailrace
