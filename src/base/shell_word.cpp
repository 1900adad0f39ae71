#include "base/shell_word.hpp"

#include <algorithm>
#include <cstdio>

namespace tailrace {
namespace {

bool is_simple(char c) {
    const bool is_alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return is_alphanumeric || std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }

std::string with_escapes(std::string_view word) {
    std::string text = "$'";
    for (const char c : word) {
        char octal[8];
        std::snprintf(octal, sizeof octal, "\\%03o", static_cast<unsigned char>(c));
        if (is_control(c))
            text += octal;
        else
            text += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return text + "'";
}

}  // namespace

std::string shell_word(std::string_view word) {
    if (!word.empty() && std::ranges::all_of(word, is_simple)) return std::string(word);
    if (std::ranges::any_of(word, is_control)) return with_escapes(word);
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\"'\"'") : std::string{c};
    return text + "'";
}

}  // namespace tailrace
