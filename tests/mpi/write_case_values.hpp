// What write_case writes: variables, attributes and values. tests/formula.py says the same in Python.
#pragma once

#include <tailrace/tailrace.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace write_case {

using Shape = std::vector<uint64_t>;

inline uint64_t volume(const Shape& shape) {
    uint64_t elements = 1;
    for (const uint64_t n : shape) elements *= n;
    return elements;
}

struct Variable {
    int number;
    std::string name;
    tailrace_type type;
    std::vector<std::string> dims;
    int flags = 0;
    bool has_fill = false;  // a _FillValue
    bool has_gap = false;   // and no values in the last three places of the last dimension
    bool is_empty = false;  // nor anywhere else
};

// 53 bits that depend on everything.
inline uint64_t bits_of(int variable, uint64_t step, uint64_t index) {
    const uint64_t key = static_cast<uint64_t>(variable) * 0x1000193 + step * 0x10001 + index;
    return (key * 0x9E3779B97F4A7C15) >> 11;
}

template <class T>
T value_of(int variable, uint64_t step, uint64_t index) {
    const uint64_t x = bits_of(variable, step, index);
    if constexpr (std::is_same_v<T, float>) return static_cast<float>(x >> 29) * 0x1p-14F - 512.0F;
    if constexpr (std::is_same_v<T, double>) return static_cast<double>(x) * 0x1p-43 - 512.0;
    if constexpr (std::is_integral_v<T>) {
        // Neither the smallest nor the largest numbers of the type: these are the fill values.
        constexpr int bits = 8 * sizeof(T);
        const uint64_t y = bits == 64 ? x : x % ((uint64_t{1} << (bits % 64)) - 5);
        return static_cast<T>(std::is_signed_v<T> ? y - ((uint64_t{1} << (bits - 1)) - 3) : y);
    }
}

template <class T>
T fill_of() {
    if constexpr (std::is_floating_point_v<T>) return T{-9999};
    return std::is_signed_v<T> ? static_cast<T>(uint64_t{1} << (8 * sizeof(T) - 1)) : static_cast<T>(-1);
}

template <class Use>
void with_type(tailrace_type type, Use use) {
    switch (type) {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) \
    case TAILRACE_##name: return use(c{});
#include <tailrace/types.def>
#undef TAILRACE_TYPE
        default: break;
    }
}

inline size_t bytes_of(tailrace_type type) {
    size_t bytes = 0;
    with_type(type, [&](auto zero) { bytes = sizeof zero; });
    return bytes;
}

inline void store(const Variable& variable, uint64_t step, uint64_t index, std::byte* to) {
    with_type(variable.type, [&](auto zero) {
        const auto value = value_of<decltype(zero)>(variable.number, variable.flags & TAILRACE_STATIC ? 0 : step, index);
        std::memcpy(to, &value, sizeof value);
    });
}

// A coordinate ascends evenly; all else is the formula's.
inline void store_coordinate(const Variable& variable, uint64_t length, uint64_t k, std::byte* to) {
    const double value = variable.name == "lat"   ? -90.0 + 180.0 * (static_cast<double>(k) + 0.5) / static_cast<double>(length)
                         : variable.name == "lon" ? 360.0 * static_cast<double>(k) / static_cast<double>(length)
                                                  : 1000.0 - 10.0 * static_cast<double>(k);
    const auto single = static_cast<float>(value);
    if (variable.type == TAILRACE_F64)
        std::memcpy(to, &value, sizeof value);
    else
        std::memcpy(to, &single, sizeof single);
}

inline void store_replicated(const Variable& variable, uint64_t elements, uint64_t step, uint64_t k, std::byte* to) {
    if (variable.dims.size() == 1 && variable.dims[0] == variable.name)
        store_coordinate(variable, elements, k, to);
    else
        store(variable, step, k, to);
}

// The sets of variables, by name.
inline std::vector<Variable> variables_of(const std::string& set) {
    constexpr int coordinate = TAILRACE_STATIC | TAILRACE_REPLICATED;
    const std::vector<std::string> volume_dims = {"lev", "lat", "lon"}, map_dims = {"lat", "lon"};
    if (set == "climate")
        return {{1, "lat", TAILRACE_F64, {"lat"}, coordinate},
                {2, "lon", TAILRACE_F64, {"lon"}, coordinate},
                {3, "lev", TAILRACE_F32, {"lev"}, coordinate},
                {4, "topo", TAILRACE_F32, map_dims, TAILRACE_STATIC},
                {5, "T", TAILRACE_F32, volume_dims},
                {6, "mask", TAILRACE_I8, map_dims},
                {7, "U", TAILRACE_F64, volume_dims},
                {8, "snow", TAILRACE_F32, map_dims, 0, true, true},
                {9, "soil", TAILRACE_I32, map_dims, 0, true, false},
                {10, "mass", TAILRACE_F64, {}, TAILRACE_REPLICATED},
                {11, "count", TAILRACE_I16, {"lat"}},
                {12, "area", TAILRACE_F32, map_dims, TAILRACE_STATIC | TAILRACE_REPLICATED},
                {13, "profile", TAILRACE_F64, {"lev"}, TAILRACE_REPLICATED},
                {14, "number", TAILRACE_I32, {}, TAILRACE_REPLICATED},
                {15, "radius", TAILRACE_F64, {}, coordinate},
                {16, "nothing", TAILRACE_I16, map_dims, 0, true, true, true}};
    std::vector<Variable> variables;
    if (set == "types") {
        // Small types beside large ones; every second with gaps.
        const std::vector<std::pair<std::string, tailrace_type>> types = {
            {"i1", TAILRACE_I8},  {"f8", TAILRACE_F64}, {"u1", TAILRACE_U8},  {"i8", TAILRACE_I64}, {"i2", TAILRACE_I16},
            {"u8", TAILRACE_U64}, {"u2", TAILRACE_U16}, {"f4", TAILRACE_F32}, {"i4", TAILRACE_I32}, {"u4", TAILRACE_U32}};
        int number = 20;
        for (const auto& [code, type] : types) {
            const bool gap = number % 4 >= 2;
            variables.push_back({number, "map_" + code, type, map_dims, 0, gap, gap});
            variables.push_back({number + 1, "line_" + code, type, {"lon"}, TAILRACE_STATIC});
            number += 2;
        }
    } else if (set == "plan") {
        variables = {{50, "a", TAILRACE_F32, volume_dims},
                     {51, "b", TAILRACE_I8, map_dims},
                     {52, "s", TAILRACE_F64, {}, TAILRACE_REPLICATED},
                     {53, "c", TAILRACE_F64, volume_dims},
                     {54, "n", TAILRACE_I16, {}, TAILRACE_REPLICATED}};
    }
    return variables;
}

}  // namespace write_case
