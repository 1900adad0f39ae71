#include "record/definitions_difference.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "record/element_text.hpp"

namespace tailrace {
namespace {

// The attributes that give stored values their meaning: they must not change while the stream has steps.
constexpr std::array<std::string_view, 12> kNames{"units",        "calendar",    "_FillValue",   "missing_value",
                                                  "scale_factor", "add_offset",  "valid_min",    "valid_max",
                                                  "valid_range",  "coordinates", "grid_mapping", "_Unsigned"};

std::string difference(const std::string& variable, const std::vector<Attribute>& earlier, const std::vector<Attribute>& now) {
    for (const std::string_view name : kNames) {
        const Attribute *before = find_attribute(earlier, name), *after = find_attribute(now, name);
        if (!are_same(before, after))
            return text("attribute '", name, "' of variable '", variable, "' is ", attribute_text(before), " in its steps, here ",
                        attribute_text(after));
    }
    return "";
}

}  // namespace

std::string difference_in_structure(const Definitions& earlier, const Definitions& now) {
    std::string why;
    const size_t dimensions = earlier.dimensions().size(), variables = earlier.variables().size();
    for (size_t d = dimensions; d < now.dimensions().size(); ++d)
        if (now.dimension(static_cast<int>(d)).ragged)
            return text("dimension '", now.dimension(static_cast<int>(d)).name, "' is new and ragged, which no step there has");
    for (const Variable& variable : earlier.variables())
        if (earlier.find_dimension(variable.name) < 0 && now.find_dimension(variable.name) >= 0)
            return text("dimension '", variable.name,
                        "' is new and has the name of a variable that is there; rename the dimension");
    const Definitions first = now.first(dimensions, variables);
    if (first.same_structure(earlier, why)) return "";
    const bool has_all = now.variables().size() > variables && std::ranges::all_of(earlier.variables(), [&](const Variable& v) {
                             return now.find_variable(v.name).has_value();
                         });
    return why + (has_all ? " (a new variable is defined behind those that are there, and so is its dimension)" : "");
}

std::string difference_in_meaning(const Definitions& earlier, const Definitions& now) {
    std::string found = difference(now.time_name(), earlier.time_attributes(), now.time_attributes());
    for (const Variable& variable : now.variables()) {
        if (!found.empty()) break;
        if (const auto before = earlier.find_variable(variable.name))
            found = difference(variable.name, earlier.variables()[*before].attributes, variable.attributes);
    }
    return found;
}

}  // namespace tailrace
