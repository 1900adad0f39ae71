#include "record/block_name.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.hpp"

namespace tailrace {

std::string block_suffix(uint64_t block) { return block == 0 ? "" : "." + std::to_string(block); }

std::string block_name(const std::string& array, uint64_t block) { return array + block_suffix(block); }

std::pair<size_t, uint64_t> variable_of_block(const Definitions& definitions, const std::string& array) {
    const auto named = [&](std::string_view name) { return definitions.find_variable(Definitions::without_prefix(name)); };
    if (const auto variable = named(array)) return {*variable, 0};
    const size_t dot = array.rfind('.');
    if (dot != std::string::npos && dot + 1 < array.size()) {
        uint64_t number = 0;
        const char *begin = array.data() + dot + 1, *end = array.data() + array.size();
        const auto variable = named(std::string_view(array).substr(0, dot));
        const auto [last, code] = std::from_chars(begin, end, number);
        if (variable && code == std::errc() && last == end) return {*variable, number};
    }
    fail(Status::CORRUPT, "array '", array, "' belongs to no variable of the stream");
}

}  // namespace tailrace
