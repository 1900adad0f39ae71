#include "record/block_name.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.hpp"

namespace tailrace {

std::string block_suffix(uint64_t block) { return block == 0 ? "" : "." + std::to_string(block); }

std::string block_name(const std::string& array, uint64_t block) { return array + block_suffix(block); }

std::pair<size_t, uint64_t> variable_of_block(const Definitions& definitions, const std::string& array) {
    const auto& variables = definitions.variables();
    const auto named = [&](std::string_view name) {
        return std::ranges::find(variables, Definitions::without_prefix(name), &Variable::name);
    };
    if (const auto it = named(array); it != variables.end()) return {static_cast<size_t>(it - variables.begin()), 0};
    const size_t dot = array.rfind('.');
    if (dot != std::string::npos && dot + 1 < array.size()) {
        uint64_t number = 0;
        const char *begin = array.data() + dot + 1, *end = array.data() + array.size();
        const auto it = named(std::string_view(array).substr(0, dot));
        if (it != variables.end() && std::from_chars(begin, end, number).ptr == end)
            return {static_cast<size_t>(it - variables.begin()), number};
    }
    fail(Status::CORRUPT, "array '", array, "' belongs to no variable of the stream");
}

}  // namespace tailrace
