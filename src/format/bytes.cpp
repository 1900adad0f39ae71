#include "format/bytes.hpp"

#include <algorithm>

namespace tailrace::format {

uint32_t lookup3(std::span<const std::byte> bytes) {
    const auto word = [&](size_t at) {
        uint32_t value = 0;
        std::memcpy(&value, bytes.data() + at, std::min<size_t>(4, bytes.size() - at));
        return value;
    };
    uint32_t a = 0xdeadbeef + static_cast<uint32_t>(bytes.size()), b = a, c = a;
    const auto turn = [](uint32_t value, int by) { return std::rotl(value, by); };
    size_t at = 0;
    for (; bytes.size() - at > 12; at += 12) {
        a += word(at), b += word(at + 4), c += word(at + 8);
        a -= c, a ^= turn(c, 4), c += b;
        b -= a, b ^= turn(a, 6), a += c;
        c -= b, c ^= turn(b, 8), b += a;
        a -= c, a ^= turn(c, 16), c += b;
        b -= a, b ^= turn(a, 19), a += c;
        c -= b, c ^= turn(b, 4), b += a;
    }
    if (at == bytes.size()) return c;
    a += word(at);
    if (at + 4 < bytes.size()) b += word(at + 4);
    if (at + 8 < bytes.size()) c += word(at + 8);
    c ^= b, c -= turn(b, 14);
    a ^= c, a -= turn(c, 11);
    b ^= a, b -= turn(a, 25);
    c ^= b, c -= turn(b, 16);
    a ^= c, a -= turn(c, 4);
    b ^= a, b -= turn(a, 14);
    c ^= b, c -= turn(b, 24);
    return c;
}

}  // namespace tailrace::format
