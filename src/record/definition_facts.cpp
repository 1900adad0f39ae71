#include "record/definition_facts.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "layout/notation.hpp"
#include "record/element_text.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostNumbers = 16;
constexpr size_t kMostBytes = 200;

template <class Number>
std::string numbers_text(const Attribute& attribute) {
    std::string list = text(type_code(attribute.type), " [");
    for (uint64_t i = 0; i < std::min(attribute.count, kMostNumbers); ++i) {
        Number value;
        std::memcpy(&value, attribute.values.data() + i * sizeof value, sizeof value);
        list += i > 0 ? ", " : "";
        list += value == value ? nlohmann::json(value).dump() : "NaN";
    }
    return list + (attribute.count > kMostNumbers ? ", ...]" : "]");
}

std::string kind_text(const Definitions& definitions, const Variable& variable) {
    std::vector<std::string> names;
    for (const int d : variable.dims) names.push_back("'" + definitions.dimension(d).name + "'");
    std::string kind = type_code(variable.type);
    if (!names.empty()) kind += " " + name_list_text(names);
    if (variable.is_static) kind += ", static";
    if (variable.replicated) kind += ", replicated";
    return kind;
}

}  // namespace

std::string value_text(const Attribute& attribute) {
    switch (attribute.type) {
        case Type::CHAR: {
            if (attribute.is_list) return attribute_text(&attribute);
            const std::string_view value(reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size());
            return text("'", value.substr(0, kMostBytes), value.size() > kMostBytes ? "...'" : "'");
        }
        case Type::I8: return numbers_text<int8_t>(attribute);
        case Type::I16: return numbers_text<int16_t>(attribute);
        case Type::I32: return numbers_text<int32_t>(attribute);
        case Type::I64: return numbers_text<int64_t>(attribute);
        case Type::U8: return numbers_text<uint8_t>(attribute);
        case Type::U16: return numbers_text<uint16_t>(attribute);
        case Type::U32: return numbers_text<uint32_t>(attribute);
        case Type::U64: return numbers_text<uint64_t>(attribute);
        case Type::F32: return numbers_text<float>(attribute);
        case Type::F64: return numbers_text<double>(attribute);
    }
    return "";
}

Facts definition_facts(const Definitions& definitions) {
    Facts facts;
    const auto add_attributes = [&](const std::string& owner, const std::vector<Attribute>& attributes) {
        for (const Attribute& attribute : attributes)
            facts.emplace_back(text("attribute '", attribute.name, "' of ", owner), value_text(attribute));
    };
    facts.emplace_back("the name of the time dimension", "'" + definitions.time_name() + "'");
    add_attributes("'" + definitions.time_name() + "'", definitions.time_attributes());
    for (const Dimension& d : definitions.dimensions())
        facts.emplace_back("dimension '" + d.name + "'", d.ragged ? "ragged" : text("of length ", d.length));
    for (const Variable& v : definitions.variables()) {
        const std::string owner = "variable '" + v.name + "'";
        facts.emplace_back(owner, kind_text(definitions, v));
        add_attributes(owner, v.attributes);
    }
    add_attributes("the stream", definitions.attributes());
    return facts;
}

}  // namespace tailrace
