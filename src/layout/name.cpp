#include "layout/name.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/error.hpp"

namespace tailrace {

constexpr size_t kMaxNameBytes = 256;        // of netCDF
constexpr size_t kMaxStreamNameBytes = 200;  // of 255: the names of its files begin with it

namespace {

bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

}  // namespace

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

std::string nfc(std::string name) {
    const bool is_ascii = std::ranges::all_of(name, [](unsigned char c) { return c < 0x80; });
    if (is_ascii || !is_utf8(name)) return name;
    utf8proc_uint8_t* composed = nullptr;
    const utf8proc_ssize_t bytes =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(name.data()), static_cast<utf8proc_ssize_t>(name.size()), &composed,
                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(composed, std::free);
    if (bytes == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
    if (bytes < 0) return name;  // such as a surrogate, which is_utf8() accepts
    return {reinterpret_cast<const char*>(composed), static_cast<size_t>(bytes)};
}

void check_name(const std::string& of, const std::string& name) {
    const auto refuse = [&](const std::string& why) {
        fail(Status::BAD_ARGUMENT, "the name '", name, "' of ", of, " cannot be in a NetCDF file: ", why);
    };
    if (name.empty()) refuse("it is empty; give it a name");
    if (name.size() > kMaxNameBytes) refuse(text("it has ", name.size(), " bytes; use at most ", kMaxNameBytes));
    if (!is_utf8(name)) refuse("it is not UTF-8; encode it so");
    if (name.find('/') != std::string::npos) refuse("'/' separates groups; use '_' instead");
    if (has_control_character(name)) refuse("it has a control character; leave it out");
    const char first = name.front();
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || (first >= '0' && first <= '9');
    if (!letter && first != '_' && (first & 0x80) == 0)
        refuse("it begins with neither a letter, a digit nor '_'; put one before it");
    if (name.back() == ' ') refuse("it ends with a space; leave that out");
}

void check_stream_name(const std::string& name) {
    const auto refuse = [&](const char* why) {
        fail(Status::BAD_ARGUMENT, "stream name '", name, "' cannot be a file name: ", why,
             ": not empty, no '/', no '.' at its beginning, at most ", kMaxStreamNameBytes, " bytes");
    };
    if (name.empty()) refuse("it is empty");
    if (name.find('/') != std::string::npos) refuse("it has a '/'");
    if (name.front() == '.') refuse("it begins with '.'");
    if (!is_utf8(name) || has_control_character(name)) refuse("it has a control character, or is not UTF-8");
    if (name.size() > kMaxStreamNameBytes) refuse("it is too long");
}

}  // namespace tailrace
