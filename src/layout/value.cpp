#include "layout/value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace tailrace {
namespace {

// Units and their powers of two. The largest is first, since size_text() takes the first unit that divides the number.
constexpr std::array<std::pair<std::string_view, int>, 5> kUnits{{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"B", 0}}};

size_t edits(std::string_view from, std::string_view to) {
    std::vector<size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < from.size(); ++i) {
        size_t diagonal = std::exchange(row[0], i + 1);
        for (size_t j = 0; j < to.size(); ++j) {
            const size_t replaced = diagonal + (from[i] != to[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

}  // namespace

void bad_value(const std::string& key, const std::string& value, const std::string& allowed) {
    fail(Status::BAD_CONFIG, key, " = '", value, "' is not possible; allowed: ", allowed);
}

std::optional<uint64_t> parse_number(std::string_view text) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<double> parse_real(std::string_view text) {
    double number = 0;
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
    return number;
}

std::string real_text(double number) {
    std::array<char, 64> digits;
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

std::optional<uint64_t> parse_size(std::string_view text) {
    int shift = 0;
    for (const auto& [unit, bits] : kUnits)
        if (text.ends_with(unit)) {
            shift = bits;
            text.remove_suffix(unit.size());
            if (text.ends_with(' ')) text.remove_suffix(1);
            break;
        }
    const auto number = parse_number(text);
    if (!number || *number > UINT64_MAX >> shift) return std::nullopt;
    return *number << shift;
}

std::string size_text(uint64_t bytes) {
    for (const auto& [unit, bits] : kUnits)
        if (bits > 0 && bytes > 0 && bytes % (uint64_t{1} << bits) == 0)
            return std::to_string(bytes >> bits) + " " + std::string(unit);
    return std::to_string(bytes);
}

std::optional<Counted> parse_counted(const std::string& text) {
    const size_t colon = text.find(':');
    if (colon == std::string::npos) return Counted{text, std::nullopt};
    const auto number = parse_number(std::string_view(text).substr(colon + 1));
    if (!number) return std::nullopt;
    return Counted{text.substr(0, colon), number};
}

const std::string& nearest(const std::string& word, std::span<const std::string> list) {
    return *std::min_element(list.begin(), list.end(),
                             [&](const std::string& a, const std::string& b) { return edits(word, a) < edits(word, b); });
}

std::string joined(std::span<const std::string> list, const char* between) {
    std::string all;
    for (const std::string& word : list) all += (all.empty() ? "" : between) + word;
    return all;
}

}  // namespace tailrace
