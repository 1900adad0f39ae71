#include "stream/planned_definitions.hpp"

#include <tailrace/tailrace.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace tailrace {
namespace {

using Input = nlohmann::json;

[[noreturn]] void bad_attribute(const std::string& name, const Input& value) {
    fail(Status::BAD_ARGUMENT, "plan request: attribute ", name, " = ", value.dump(),
         " is neither text nor a number, nor a list of either");
}

template <class Number>
Attribute numbers(const std::string& name, Type type, const Input& list) {
    const auto values = list.get<std::vector<Number>>();
    return number_attribute(name, type, values.size(), values.data());
}

// Numbers have the types that the Python package gives them: that of the variable, or 32 bits for whole numbers that fit.
Attribute attribute_of(const std::string& name, const Input& value, const Type* of_variable) {
    if (value.is_string()) return text_attribute(name, value.get<std::string>());
    const Input list = value.is_array() ? value : Input::array({value});
    const auto all = [&](auto&& are) { return !list.empty() && std::ranges::all_of(list, are); };
    if (all([](const Input& item) { return item.is_string(); })) return texts_attribute(name, list.get<std::vector<std::string>>());
    if (!all([](const Input& item) { return item.is_number(); })) bad_attribute(name, value);
    constexpr std::array kTypedAsVariable = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"};
    if (of_variable != nullptr && std::ranges::find(kTypedAsVariable, name) != kTypedAsVariable.end()) {
        const std::vector<std::byte> any(list.size() * type_bytes(*of_variable));  // a plan needs only the length
        return number_attribute(name, *of_variable, list.size(), any.data());
    }
    const auto is_short = [](const Input& item) {
        return item.is_number_integer() && std::abs(item.get<double>()) <= std::numeric_limits<int32_t>::max();
    };
    if (all(is_short)) return numbers<int32_t>(name, Type::I32, list);
    if (all([](const Input& item) { return item.is_number_integer(); })) return numbers<int64_t>(name, Type::I64, list);
    return numbers<double>(name, Type::F64, list);
}

std::vector<Attribute> attributes_of(const Input& object, const char* key, const Type* of_variable = nullptr) {
    std::vector<Attribute> attributes;
    if (!object.contains(key)) return attributes;
    if (!object[key].is_object()) bad_attribute(key, object[key]);
    for (const auto& [name, value] : object[key].items()) attributes.push_back(attribute_of(name, value, of_variable));
    return attributes;
}

struct Coordinate {
    std::string name;
    Type type = Type::F64;
    uint64_t length = 0;
    std::vector<Attribute> attributes;
};

Coordinate coordinate_of(const Input& input) {
    const auto bad = [&](const char* what) { fail(Status::BAD_ARGUMENT, "plan request: coordinate ", input.dump(), what); };
    if (!input.is_object() || !input.contains("name") || !input["name"].is_string() || !input.contains("length") ||
        !input["length"].is_number_unsigned())
        bad(R"( needs "name" and "length"; "type" and "attributes" are optional)");
    Coordinate coordinate{input["name"], Type::F64, input["length"], {}};
    if (input.contains("type")) coordinate.type = planned_type(input["type"].is_string() ? input["type"].get<std::string>() : "");
    coordinate.attributes = attributes_of(input, "attributes", &coordinate.type);
    return coordinate;
}

}  // namespace

Definitions planned_definitions(const PlanRequest& request, const Input& submitted) {
    Definitions definitions(request.time_name);
    std::vector<Coordinate> coordinates;
    if (submitted.contains("coordinates"))
        for (const Input& input : submitted["coordinates"]) coordinates.push_back(coordinate_of(input));
    std::map<std::pair<uint64_t, uint64_t>, std::string> names;  // by length, and which of a variable's dimensions of that length
    std::map<uint64_t, uint64_t> of_length;
    for (const Coordinate& coordinate : coordinates) {
        definitions.define_dimension(coordinate.name, coordinate.length);
        names[{coordinate.length, of_length[coordinate.length]++}] = coordinate.name;
    }
    const auto is_taken = [&](const std::string& name) {
        return name == request.time_name || definitions.find_dimension(name) >= 0 ||
               std::ranges::any_of(request.variables, [&](const auto& v) { return v.name == name; });
    };
    for (size_t v = 0; v < request.variables.size(); ++v) {
        const PlanVariable& variable = request.variables[v];
        std::vector<const char*> dims;
        std::map<uint64_t, uint64_t> seen;
        for (const uint64_t length : variable.shape) {
            std::string& name = names[{length, seen[length]++}];
            if (name.empty()) {
                name = "dim" + std::to_string(definitions.dimensions().size());
                while (is_taken(name)) name += "_";
                definitions.define_dimension(name, length);
            }
            dims.push_back(name.c_str());
        }
        definitions.define_variable(variable.name, static_cast<int>(variable.type), static_cast<int>(dims.size()), dims.data(), 0);
        definitions.put_attributes(variable.name, attributes_of(submitted["variables"][v], "attributes", &variable.type));
    }
    for (const Coordinate& coordinate : coordinates) {
        const char* const dim = coordinate.name.c_str();
        definitions.define_variable(coordinate.name, static_cast<int>(coordinate.type), 1, &dim,
                                    TAILRACE_STATIC | TAILRACE_REPLICATED);
        definitions.put_attributes(coordinate.name, coordinate.attributes);
    }
    definitions.put_attributes("", attributes_of(submitted, "attributes"));
    definitions.put_attributes(request.time_name, attributes_of(submitted, "time_attributes"));
    return definitions;
}

}  // namespace tailrace
