#include "base/hex.hpp"

#include <charconv>

#include "base/error.hpp"

namespace tailrace {

std::string hex_bytes(const std::vector<std::byte>& bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::byte value : bytes) {
        text += kDigits[static_cast<unsigned>(value) >> 4];
        text += kDigits[static_cast<unsigned>(value) & 15];
    }
    return text;
}

std::vector<std::byte> bytes_of_hex(std::string_view text) {
    std::vector<std::byte> bytes;
    bytes.reserve(text.size() / 2);
    for (size_t i = 0; i < text.size(); i += 2) {
        unsigned value = 0;
        const char* first = text.data() + i;
        const char* last = first + (i + 1 < text.size() ? 2 : 1);
        const auto [end, code] = std::from_chars(first, last, value, 16);
        if (last != first + 2 || code != std::errc() || end != last)
            fail(Status::CORRUPT, "'", std::string(first, last), "' is not two hexadecimal digits");
        bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
}

}  // namespace tailrace
