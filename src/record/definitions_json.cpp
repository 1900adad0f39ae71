#include "record/definitions_json.hpp"

#include <tailrace/tailrace.h>

#include <string_view>

#include "base/error.hpp"
#include "base/hex.hpp"
#include "layout/name.hpp"

namespace tailrace {
namespace {

const Type* type_of_code(const std::string& code) {
    static const Type all[] = {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) Type::name,
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    };
    for (const Type& type : all)
        if (code == type_code(type)) return &type;
    fail(Status::CORRUPT, "the journal has a variable or attribute of the unknown type '", code, "'");
}

// The one text that older versions, which do not know lists, read in place of a list.
std::string joined(const Attribute& attribute) {
    std::string all;
    for (const std::string_view text : texts_of(attribute)) all.append(all.empty() ? "" : ", ").append(text);
    return all;
}

std::vector<Attribute> attributes_of(const Json& list) {
    std::vector<Attribute> attributes;
    for (const Json& a : list) {
        if (a.contains("texts")) {
            attributes.push_back(texts_attribute(a.at("name"), a.at("texts").get<std::vector<std::string>>()));
        } else if (a.contains("text")) {
            attributes.push_back(text_attribute(a.at("name"), a.at("text").get_ref<const std::string&>()));
        } else {
            const std::vector<std::byte> bytes = bytes_of_hex(a.at("hex").get_ref<const std::string&>());
            const Type type = *type_of_code(a.at("type"));
            if (bytes.size() % type_bytes(type) != 0)
                fail(Status::CORRUPT, "attribute ", a.at("name"), " has ", bytes.size(), " bytes, no whole number of elements of ",
                     type_bytes(type));
            attributes.push_back(number_attribute(a.at("name"), type, bytes.size() / type_bytes(type), bytes.data()));
        }
    }
    return attributes;
}

int flags_of(const Json& variable) {
    return (variable.at("static").get<bool>() ? TAILRACE_STATIC : 0) |
           (variable.at("replicated").get<bool>() ? TAILRACE_REPLICATED : 0);
}

}  // namespace

Json attributes_json(const std::vector<Attribute>& attributes) {
    Json list = Json::array();
    for (const Attribute& a : attributes) {
        const std::string_view text(reinterpret_cast<const char*>(a.values.data()), a.values.size());
        if (a.is_list)
            list.push_back({{"name", a.name}, {"text", joined(a)}, {"texts", texts_of(a)}});
        else if (a.is_text() && a.name != "_FillValue" && is_utf8(text))
            list.push_back({{"name", a.name}, {"text", text}});
        else
            list.push_back({{"name", a.name}, {"type", type_code(a.type)}, {"hex", hex_bytes(a.values)}});
    }
    return list;
}

Json definitions_json(const Definitions& definitions) {
    Json json = Json::object();  // not null: if memory runs out when a null becomes an object, that value cannot be destroyed
    json["time"] = {{"name", definitions.time_name()}, {"attributes", attributes_json(definitions.time_attributes())}};
    json["dimensions"] = Json::array();
    for (const Dimension& d : definitions.dimensions())
        json["dimensions"].push_back(d.ragged ? Json{{"name", d.name}, {"ragged", true}}
                                              : Json{{"name", d.name}, {"length", d.length}});
    Json& variables = json["variables"] = Json::array();
    variables.get_ref<Json::array_t&>().reserve(definitions.variables().size());
    for (const Variable& v : definitions.variables()) {
        // Key by key: an initializer list would be copied.
        Json& variable = variables.emplace_back(Json::object());
        variable.get_ref<Json::object_t&>().reserve(6);
        variable["name"] = v.name;
        variable["type"] = type_code(v.type);
        Json& names = variable["dimensions"] = Json::array();
        for (const int d : v.dims) names.push_back(definitions.dimension(d).name);
        variable["static"] = v.is_static;
        variable["replicated"] = v.replicated;
        variable["attributes"] = attributes_json(v.attributes);
    }
    json["attributes"] = attributes_json(definitions.attributes());
    return json;
}

Definitions definitions_of(const Json& json, Definitions::Spelling spelling) {
    Definitions result(json.at("time").at("name").get<std::string>(), spelling);
    result.put_attributes(result.time_name(), attributes_of(json.at("time").at("attributes")));
    for (const Json& d : json.at("dimensions"))
        result.define_dimension(d.at("name"), d.contains("ragged") ? TAILRACE_RAGGED : count_at(d, "length"));
    for (const Json& v : json.at("variables")) {
        const std::vector<std::string> names = v.at("dimensions");
        if (names.size() > TAILRACE_MAX_DIMS)
            fail(Status::CORRUPT, "variable ", v.at("name"), " has ", names.size(), " dimensions; the most are ",
                 TAILRACE_MAX_DIMS);
        std::vector<const char*> dims;
        for (const std::string& name : names) dims.push_back(name.c_str());
        result.define_variable(v.at("name"), static_cast<int>(*type_of_code(v.at("type"))), static_cast<int>(dims.size()),
                               dims.data(), flags_of(v));
        result.put_attributes(v.at("name"), attributes_of(v.at("attributes")));
    }
    result.put_attributes("", attributes_of(json.at("attributes")));
    return result;
}

}  // namespace tailrace
