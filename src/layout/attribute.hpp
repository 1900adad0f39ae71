// An attribute of a variable or of a file: a name with text or numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/type.hpp"

namespace tailrace {

struct Attribute {
    std::string name;
    Type type = Type::CHAR;         // CHAR: text in UTF-8, without a terminator
    uint64_t count = 0;             // numbers, or bytes of text
    std::vector<std::byte> values;  // count elements
    bool is_list = false;           // several texts of type CHAR, each with a zero byte at its end
    bool is_text() const { return type == Type::CHAR && !is_list; }
    bool operator==(const Attribute&) const = default;
};

// The attribute with this name; null if there is none.
inline const Attribute* find_attribute(const std::vector<Attribute>& attributes, std::string_view name) {
    const auto at = std::ranges::find(attributes, name, &Attribute::name);
    return at == attributes.end() ? nullptr : &*at;
}

// Whether two attributes are equal, or both pointers are null.
inline bool are_same(const Attribute* a, const Attribute* b) { return a != nullptr && b != nullptr ? *a == *b : a == b; }

inline Attribute text_attribute(std::string name, std::string_view value) {
    const auto* first = reinterpret_cast<const std::byte*>(value.data());
    return {std::move(name), Type::CHAR, value.size(), {first, first + value.size()}};
}

// A list of one text is that text: readers cannot tell them apart.
inline Attribute texts_attribute(std::string name, const std::vector<std::string>& texts) {
    if (texts.size() == 1) return text_attribute(std::move(name), texts.front());
    std::string values;
    for (const std::string& text : texts) values.append(text).push_back('\0');
    Attribute list = text_attribute(std::move(name), values);
    list.is_list = true;
    return list;
}

// The texts of an attribute that is a list. They refer to the attribute's memory.
inline std::vector<std::string_view> texts_of(const Attribute& attribute) {
    std::vector<std::string_view> texts;
    std::string_view left(reinterpret_cast<const char*>(attribute.values.data()), attribute.values.size());
    while (!left.empty()) {
        texts.push_back(left.substr(0, left.find('\0')));
        left.remove_prefix(std::min(left.size(), texts.back().size() + 1));
    }
    return texts;
}

inline Attribute number_attribute(std::string name, Type type, uint64_t count, const void* values) {
    const auto* first = static_cast<const std::byte*>(values);
    return {std::move(name), type, count, {first, first + count * type_bytes(type)}};
}

}  // namespace tailrace
