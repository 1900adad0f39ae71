#include "format/bytes.hpp"

#include <algorithm>

namespace tailrace::format {

namespace {

using Four [[gnu::vector_size(16)]] = uint32_t;

uint32_t rotated(uint32_t value, int by) { return std::rotl(value, by); }
Four rotated(Four value, int by) { return value << by | value >> (32 - by); }

// `word(at, bytes)`: the bytes from `at` on, at most 4, as a number; or four such numbers, one for each checksum.
template <class Word, class Words>
Word lookup3_of(uint64_t bytes, Words&& word) {
    Word a = Word{} + 0xdeadbeefu + static_cast<uint32_t>(bytes), b = a, c = a;
    uint64_t at = 0;
    for (; bytes - at > 12; at += 12) {
        a += word(at, 4), b += word(at + 4, 4), c += word(at + 8, 4);
        a -= c, a ^= rotated(c, 4), c += b;
        b -= a, b ^= rotated(a, 6), a += c;
        c -= b, c ^= rotated(b, 8), b += a;
        a -= c, a ^= rotated(c, 16), c += b;
        b -= a, b ^= rotated(a, 19), a += c;
        c -= b, c ^= rotated(b, 4), b += a;
    }
    if (at == bytes) return c;
    const auto rest = [&](uint64_t from) { return word(from, std::min<uint64_t>(4, bytes - from)); };
    a += rest(at);
    if (at + 4 < bytes) b += rest(at + 4);
    if (at + 8 < bytes) c += rest(at + 8);
    c ^= b, c -= rotated(b, 14);
    a ^= c, a -= rotated(c, 11);
    b ^= a, b -= rotated(a, 25);
    c ^= b, c -= rotated(b, 16);
    a ^= c, a -= rotated(c, 4);
    b ^= a, b -= rotated(a, 14);
    c ^= b, c -= rotated(b, 24);
    return c;
}

uint32_t number_at(const std::byte* from, uint64_t bytes) {
    uint32_t value = 0;
    std::memcpy(&value, from, bytes);
    return value;
}

}  // namespace

uint32_t lookup3(std::span<const std::byte> bytes) {
    return lookup3_of<uint32_t>(bytes.size(), [&](uint64_t at, uint64_t count) { return number_at(bytes.data() + at, count); });
}

std::array<uint32_t, 4> lookup3_of_4(const std::array<const std::byte*, 4>& from, uint64_t bytes) {
    const Four sums = lookup3_of<Four>(bytes, [&](uint64_t at, uint64_t count) {
        return Four{number_at(from[0] + at, count), number_at(from[1] + at, count), number_at(from[2] + at, count),
                    number_at(from[3] + at, count)};
    });
    return {sums[0], sums[1], sums[2], sums[3]};
}

void Bytes::set_checksums(std::span<const Range> ranges) {
    const auto summed = [](const Range& range) { return range.end - range.begin - kChecksumBytes; };
    while (!ranges.empty()) {
        const uint64_t bytes = summed(ranges.front());
        if (ranges.size() >= 4 &&
            std::ranges::all_of(ranges.first(4), [&](const Range& range) { return summed(range) == bytes; })) {
            std::array<const std::byte*, 4> at;
            for (size_t k = 0; k < 4; ++k) at[k] = room_.data() + ranges[k].begin;
            const auto sums = lookup3_of_4(at, bytes);
            for (size_t k = 0; k < 4; ++k) set(ranges[k].begin + bytes, sums[k]);
            ranges = ranges.subspan(4);
        } else {
            set(ranges.front().begin + bytes, lookup3(part(ranges.front().begin, ranges.front().begin + bytes)));
            ranges = ranges.subspan(1);
        }
    }
}

}  // namespace tailrace::format
