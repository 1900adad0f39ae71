// Paths in journals are written as hexadecimal digits, because a path may have any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/hex.hpp"

namespace tailrace {

inline std::string hex_of_path(const std::string& path) {
    const auto* begin = reinterpret_cast<const std::byte*>(path.data());
    return hex_bytes({begin, begin + path.size()});
}

inline std::string path_of_hex(const std::string& hex) {
    const std::vector<std::byte> bytes = bytes_of_hex(hex);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tailrace
