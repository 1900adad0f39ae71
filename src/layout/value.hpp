// The text of configuration values: numbers, sizes in bytes, words of a list.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {
// Throws BAD_CONFIG, naming the key, the value and what is allowed.
[[noreturn]] void bad_value(const std::string& key, const std::string& value, const std::string& allowed);

// Nothing when the text is not a whole number, or is too large for 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);
// Nothing when the text is not a finite number.
std::optional<double> parse_real(std::string_view text);
std::string real_text(double number);  // with all its digits
// "4096", "4096 B", "4 KiB", "1MiB", "2 GiB", "1 TiB"; nothing for anything else (units of 1000 are refused: they are ambiguous).
std::optional<uint64_t> parse_size(std::string_view text);
std::string size_text(uint64_t bytes);  // "4 KiB"; plain bytes where no unit divides them

// The result of parse_counted(): "name:N" -> {name, N}; "name" -> {name, nothing}; nothing if N is not a whole number.
struct Counted {
    std::string word;
    std::optional<uint64_t> number;
};
std::optional<Counted> parse_counted(const std::string& text);

// The word of the list with the smallest edit distance to `word`; of several such words, the first. The list is not empty.
const std::string& nearest(const std::string& word, std::span<const std::string> list);
std::string joined(std::span<const std::string> list, const char* between);

}  // namespace tailrace
