#include "record/element_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace tailrace {
namespace {

constexpr uint64_t kListedNumbers = 6, kMostCharacters = 200;

template <class T>
T element_at(const std::byte* at, uint64_t i = 0) {
    T value;
    std::memcpy(&value, at + i * sizeof value, sizeof value);
    return value;
}

template <class T>
std::string number_text(T value) {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return {digits, end};
}

template <class T>
bool is_same(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a == b || (std::isnan(a) && std::isnan(b));
    return a == b;
}

template <class T>
uint64_t first_difference_of(const std::byte* a, const std::byte* b, uint64_t count) {
    if (std::memcmp(a, b, count * sizeof(T)) == 0) return count;
    for (uint64_t i = 0; i < count; ++i)
        if (!is_same(element_at<T>(a, i), element_at<T>(b, i))) return i;
    return count;
}

}  // namespace

std::string element_text(Type type, const std::byte* element) {
    if (type == Type::CHAR) return std::string("'") + static_cast<char>(*element) + "'";
    switch (type) {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) \
    case Type::name: return number_text(element_at<c>(element));
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    }
    return "";
}

std::string attribute_text(const Attribute* attribute) {
    if (attribute == nullptr) return "none";
    if (attribute->is_list) {
        std::string all;
        for (const std::string_view text : texts_of(*attribute)) all.append(all.empty() ? "'" : ", '").append(text).append("'");
        return "[" + (all.size() > kMostCharacters ? all.substr(0, kMostCharacters) + "..." : all) + "]";
    }
    if (attribute->is_text()) {
        const std::string value(reinterpret_cast<const char*>(attribute->values.data()), attribute->values.size());
        return "'" + (value.size() > kMostCharacters ? value.substr(0, kMostCharacters) + "..." : value) + "'";
    }
    std::string list;
    for (uint64_t i = 0; i < std::min(attribute->count, kListedNumbers); ++i)
        list += (i > 0 ? ", " : "") + element_text(attribute->type, attribute->values.data() + i * type_bytes(attribute->type));
    if (attribute->count > kListedNumbers) list += ", ...";
    if (attribute->count != 1) list = "[" + list + "]";
    return list + " (" + type_code(attribute->type) + ")";
}

uint64_t first_difference(Type type, const std::byte* a, const std::byte* b, uint64_t count) {
    switch (type) {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) \
    case Type::name: return first_difference_of<c>(a, b, count);
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    }
    return count;
}

}  // namespace tailrace
