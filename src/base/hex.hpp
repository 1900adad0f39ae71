// Bytes as hexadecimal text: the form of binary values in a journal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

std::string hex_bytes(const std::vector<std::byte>& bytes);
// Throws CORRUPT for text that is not pairs of hexadecimal digits.
std::vector<std::byte> bytes_of_hex(std::string_view text);

}  // namespace tailrace
