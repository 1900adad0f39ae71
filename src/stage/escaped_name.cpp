#include "stage/escaped_name.hpp"

#include <cctype>
#include <cstdio>

namespace tailrace {

std::string escaped_name(std::string_view name) {
    std::string out;
    for (const char c : name) {
        char code[4];
        const bool is_plain = c > ' ' - 1 && c < 0x7f && c != '%';
        if (!is_plain) std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
        out += is_plain ? std::string(1, c) : std::string(code);
    }
    return out;
}

std::string unescaped_name(std::string_view escaped) {
    constexpr int kHexadecimal = 16;
    std::string out;
    for (size_t at = 0; at < escaped.size(); ++at) {
        const bool is_code = escaped[at] == '%' && at + 2 < escaped.size() &&
                             std::isxdigit(static_cast<unsigned char>(escaped[at + 1])) != 0 &&
                             std::isxdigit(static_cast<unsigned char>(escaped[at + 2])) != 0;
        if (!is_code) {
            out += escaped[at];
            continue;
        }
        out += static_cast<char>(std::stoi(std::string(escaped.substr(at + 1, 2)), nullptr, kHexadecimal));
        at += 2;
    }
    return out;
}

}  // namespace tailrace
