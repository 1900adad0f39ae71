#include "format/types.hpp"

#include <limits>
#include <type_traits>

namespace tailrace::format {
namespace {

// The class of a type with the version of its message, then 24 bits of its own.
enum class Class : uint8_t { integer = 0x10, real = 0x11, text = 0x13, reference = 0x17, list = 0x19, compound = 0x36 };

void put_head(Bytes& out, Class of, uint32_t bits, uint32_t bytes) {
    out.put(static_cast<uint8_t>(of));
    for (const int shift : {0, 8, 16}) out.put(static_cast<uint8_t>(bits >> shift));
    out.put(bytes);
}

Bytes integer_type(uint32_t bytes, bool is_signed) {
    Bytes out;
    put_head(out, Class::integer, is_signed ? 8 : 0, bytes);
    out.put(uint16_t{0});  // of the first bit
    out.put(static_cast<uint16_t>(8 * bytes));
    return out;
}

Bytes real_type(uint32_t bytes, int mantissa_bits, int exponent_bits, bool big_endian) {
    constexpr uint32_t kLeadingBitIsImplied = 0x20;
    Bytes out;
    put_head(out, Class::real, (big_endian ? 1 : 0) | kLeadingBitIsImplied | (8 * bytes - 1) << 8, bytes);
    out.put(uint16_t{0});
    out.put(static_cast<uint16_t>(8 * bytes));
    for (const int value : {mantissa_bits, exponent_bits, 0, mantissa_bits}) out.put(static_cast<uint8_t>(value));
    out.put((uint32_t{1} << (exponent_bits - 1)) - 1);
    return out;
}

template <class Element>
Bytes type_like() {
    constexpr uint32_t bytes = sizeof(Element);
    if constexpr (std::is_same_v<Element, char>)
        return text_type(1, TextEnd::terminator, Encoding::ascii);
    else if constexpr (std::is_floating_point_v<Element>)
        return real_type(bytes, std::numeric_limits<Element>::digits - 1, 8 * bytes - std::numeric_limits<Element>::digits, false);
    else
        return integer_type(bytes, std::is_signed_v<Element>);
}

Bytes reference_type() {
    Bytes out;
    put_head(out, Class::reference, 0, 8);
    return out;
}

}  // namespace

Bytes type_of(Type type) {
    switch (type) {
#define TAILRACE_TYPE(name, number, bytes, c, numpy, fortran) \
    case Type::name: return type_like<c>();
#include <tailrace/types.def>
#undef TAILRACE_TYPE
    }
    return {};
}

Bytes big_endian_float() { return real_type(4, 23, 8, true); }

Bytes text_type(uint32_t bytes, TextEnd end, Encoding encoding) {
    Bytes out;
    put_head(out, Class::text, static_cast<uint32_t>(end) | static_cast<uint32_t>(encoding) << 4, bytes);
    return out;
}

Bytes lists_type() {
    Bytes out;
    put_head(out, Class::list, 0, kListBytes);
    out.put_bytes(reference_type().all());
    return out;
}

Bytes texts_type() {
    constexpr uint32_t kIsText = 1, kIsUtf8 = 1 << 8;
    Bytes out;
    put_head(out, Class::list, kIsText | kIsUtf8, kListBytes);
    out.put_bytes(integer_type(1, false).all());
    return out;
}

Bytes uses_type() {
    Bytes out;
    put_head(out, Class::compound, 2, kUseBytes);
    out.put_name("dataset");
    out.put(uint8_t{0});
    out.put_bytes(reference_type().all());
    out.put_name("dimension");
    out.put(uint8_t{8});
    out.put_bytes(integer_type(4, true).all());
    return out;
}

namespace {

enum class SpaceKind : uint8_t { scalar = 0, simple = 1, empty = 2 };

Bytes space(SpaceKind kind, uint8_t dims, bool has_most) {
    Bytes out;
    out.put(uint8_t{2});  // version
    out.put(dims);
    out.put(static_cast<uint8_t>(has_most));
    out.put(static_cast<uint8_t>(kind));
    return out;
}

}  // namespace

Bytes scalar_space() { return space(SpaceKind::scalar, 0, false); }
Bytes empty_space() { return space(SpaceKind::empty, 0, false); }

Bytes simple_space(std::span<const uint64_t> lengths, std::span<const uint64_t> most) {
    if (lengths.empty()) return scalar_space();
    Bytes out = space(SpaceKind::simple, static_cast<uint8_t>(lengths.size()), true);
    for (const auto& values : {lengths, most})
        for (const uint64_t value : values) out.put(value);
    return out;
}

}  // namespace tailrace::format
