#include "layout/netcdf_fill.hpp"

#include <cstdint>
#include <span>

namespace tailrace {
namespace {

template <class Value>
std::vector<std::byte> bytes_of_value(Value value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

// The values are NC_FILL_BYTE, NC_FILL_SHORT and so on of netcdf.h.
std::vector<std::byte> netcdf_fill(Type type) {
    switch (type) {
        case Type::I8: return bytes_of_value(int8_t{-127});
        case Type::I16: return bytes_of_value(int16_t{-32767});
        case Type::I32: return bytes_of_value(int32_t{-2147483647});
        case Type::I64: return bytes_of_value(int64_t{-9223372036854775806});
        case Type::U8: return bytes_of_value(uint8_t{255});
        case Type::U16: return bytes_of_value(uint16_t{65535});
        case Type::U32: return bytes_of_value(uint32_t{4294967295});
        case Type::U64: return bytes_of_value(uint64_t{18446744073709551614u});
        case Type::F32: return bytes_of_value(9.9692099683868690e+36f);
        case Type::F64: return bytes_of_value(9.9692099683868690e+36);
        case Type::CHAR: return bytes_of_value('\0');
    }
    return {};
}

}  // namespace tailrace
