#include "layout/name.hpp"

#include "base/error.hpp"

namespace tailrace {

constexpr size_t kMaxNameBytes = 256;  // of netCDF

bool is_utf8(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const size_t length = lead < 0x80                   ? 1
                              : lead >= 0xC2 && lead < 0xE0 ? 2
                              : lead >= 0xE0 && lead < 0xF0 ? 3
                              : lead < 0xF5                 ? 4
                                                            : 0;
        if (length == 0 || (lead >= 0x80 && lead < 0xC2) || i + length > text.size()) return false;
        for (size_t k = 1; k < length; ++k)
            if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
        i += length;
    }
    return true;
}

void check_name(const std::string& of, const std::string& name) {
    const auto refuse = [&](const std::string& why) {
        fail(Status::BAD_ARGUMENT, "the name '", name, "' of ", of, " cannot be in a NetCDF file: ", why);
    };
    if (name.empty()) refuse("it is empty; give it a name");
    if (name.size() > kMaxNameBytes) refuse(text("it has ", name.size(), " bytes; use at most ", kMaxNameBytes));
    if (!is_utf8(name)) refuse("it is not UTF-8; encode it so");
    for (const char c : name) {
        if (c == '/') refuse("'/' separates groups; use '_' instead");
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) refuse("it has a control character; leave it out");
    }
    const char first = name.front();
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || (first >= '0' && first <= '9');
    if (!letter && first != '_' && (first & 0x80) == 0)
        refuse("it begins with neither a letter, a digit nor '_'; put one before it");
    if (name.back() == ' ') refuse("it ends with a space; leave that out");
}

}  // namespace tailrace
