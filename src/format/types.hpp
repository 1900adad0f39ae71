// The types and spaces of elements as messages ("Datatype Message", "Dataspace Message").
#pragma once

#include <cstdint>
#include <span>

#include "base/type.hpp"
#include "format/bytes.hpp"

namespace tailrace::format {

constexpr uint64_t kUnlimited = ~uint64_t{0};
constexpr uint64_t kListBytes = 16, kUseBytes = 16;  // size in bytes of one element of lists_type(), of uses_type()

Bytes type_of(Type type);  // little endian; CHAR: texts of one byte
Bytes big_endian_float();  // 4 bytes: the type that netCDF gives to a dimension without values
enum class TextEnd : uint8_t { terminator = 0, padding = 1 };
enum class Encoding : uint8_t { ascii = 0, utf8 = 1 };
Bytes text_type(uint32_t bytes, TextEnd end, Encoding encoding);
Bytes lists_type();  // a list of references to objects; its elements are in the global heap
Bytes texts_type();  // a text of any length in UTF-8; its characters are in the global heap
Bytes uses_type();   // a reference to a dataset that uses a dimension scale, and the number of that dimension in it (32 bits)

Bytes scalar_space();
Bytes empty_space();
// The space of an array with these lengths; a scalar if there are none. `most`: for each dimension kUnlimited or its length.
Bytes simple_space(std::span<const uint64_t> lengths, std::span<const uint64_t> most);
constexpr uint64_t kFirstLengthAt = 4;  // byte position of the first length in the message of simple_space()
inline Bytes simple_space(std::span<const uint64_t> lengths) { return simple_space(lengths, lengths); }

}  // namespace tailrace::format
