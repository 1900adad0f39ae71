// The types and spaces of elements as messages ("Datatype Message", "Dataspace Message").
#pragma once

#include <cstdint>
#include <span>

#include "base/type.hpp"
#include "format/bytes.hpp"

namespace tailrace::format {

constexpr uint64_t kUnlimited = ~uint64_t{0};
constexpr uint64_t kListBytes = 16, kUseBytes = 16;  // of one element of lists_type(), uses_type()

Bytes type_of(Type type);  // little endian; CHAR: texts of one byte
Bytes big_endian_float();  // of 4 bytes: netCDF's for a dimension without values
enum class TextEnd : uint8_t { terminator = 0, padding = 1 };
enum class Encoding : uint8_t { ascii = 0, utf8 = 1 };
Bytes text_type(uint32_t bytes, TextEnd end, Encoding encoding);
Bytes lists_type();  // lists of references to objects: their elements are in the global heap
Bytes uses_type();   // a reference to an object and a 32-bit number: who uses a dimension scale, as which of its dimensions

Bytes scalar_space();
Bytes empty_space();
// No lengths make a scalar. `most`: kUnlimited, or the lengths.
Bytes simple_space(std::span<const uint64_t> lengths, std::span<const uint64_t> most);
inline Bytes simple_space(std::span<const uint64_t> lengths) { return simple_space(lengths, lengths); }

}  // namespace tailrace::format
