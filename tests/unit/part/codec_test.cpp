#include "part/codec.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

const Compression kCompressions[] = {{},
                                     {Compression::Kind::deflate, 1},
                                     {Compression::Kind::deflate, 9},
                                     {Compression::Kind::zstd, 1},
                                     {Compression::Kind::zstd, 19}};

std::vector<std::byte> smooth(uint64_t element_bytes, size_t elements) {
    std::vector<std::byte> bytes(element_bytes * elements);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % element_bytes == 0 ? i / element_bytes / 7 : 3);
    return bytes;
}

TEST(Codec, GivesBackWhatItTook) {
    Codec codec;
    for (const Compression& compression : kCompressions)
        for (const uint64_t shuffled : {1, 2, 4, 8})
            for (const size_t elements : {size_t{1}, size_t{5}, size_t{2048}, size_t{5001}}) {
                const Filters filters{compression, shuffled};
                const std::vector<std::byte> chunk = smooth(shuffled, elements);
                std::vector<std::byte> stored{std::byte{7}}, back(chunk.size());
                codec.encode(filters, chunk, stored);
                EXPECT_EQ(stored.front(), std::byte{7}) << "it appends";
                EXPECT_TRUE(codec.decode(filters, std::span(stored).subspan(1), back));
                EXPECT_EQ(back, chunk);
            }
}

TEST(Codec, ShufflesAsHdf5Does) {
    std::vector<std::byte> chunk, stored;
    for (const int byte : {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}) chunk.push_back(static_cast<std::byte>(byte));
    Codec().encode({{}, 4}, chunk, stored);
    for (size_t i = 0; const int byte : {0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23})
        EXPECT_EQ(stored[i++], static_cast<std::byte>(byte));
}

TEST(Codec, ShuffledFloatsAreSmaller) {
    std::vector<float> values(50000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 280.0F + std::sin(static_cast<float>(i) * 0.001F);
    const auto bytes = std::as_bytes(std::span(values));
    std::vector<std::byte> as_is, shuffled;
    Codec codec;
    codec.encode({{Compression::Kind::deflate, 1}, 1}, bytes, as_is);
    codec.encode({{Compression::Kind::deflate, 1}, 4}, bytes, shuffled);
    EXPECT_LT(shuffled.size(), as_is.size());
    EXPECT_LT(as_is.size(), bytes.size());
}

TEST(Codec, RefusesWhatIsNoChunkOfThatSize) {
    Codec codec;
    for (const Compression& compression : kCompressions) {
        const Filters filters{compression, 4};
        const std::vector<std::byte> chunk = smooth(4, 1000);
        std::vector<std::byte> stored, longer(chunk.size() + 4), shorter(chunk.size() - 4), same(chunk.size());
        codec.encode(filters, chunk, stored);
        EXPECT_FALSE(codec.decode(filters, stored, longer));
        EXPECT_FALSE(codec.decode(filters, stored, shorter));
        EXPECT_FALSE(codec.decode(filters, std::span(stored).first(stored.size() / 2), same));
        EXPECT_FALSE(codec.decode(filters, {}, same));
        if (compression.kind == Compression::Kind::none) continue;
        stored.front() ^= std::byte{0xFF};
        EXPECT_FALSE(codec.decode(filters, stored, same));
    }
}

template <class Float, class Word>
void check_rounding(Type type, uint64_t mantissa) {
    for (uint64_t bits = 1; bits < mantissa; ++bits) {
        const Float missing = -999;
        const auto* first = reinterpret_cast<const std::byte*>(&missing);
        const Rounding rounding{type, bits, {first, first + sizeof missing}};
        ASSERT_TRUE(rounding.rounds());
        std::vector<Float> values{1, -1, 0, Float(1) / 3, -Float(2) / 3, missing, std::numeric_limits<Float>::infinity(), 1e-30F};
        const std::vector<Float> before = values;
        round_mantissas(rounding, std::as_writable_bytes(std::span(values)));
        for (size_t i = 0; i < values.size(); ++i) {
            if (before[i] == missing || std::isinf(before[i])) {
                EXPECT_EQ(values[i], before[i]);
                continue;
            }
            EXPECT_EQ(std::bit_cast<Word>(values[i]) & ((Word{1} << (mantissa - bits)) - 1), 0u) << "the rest is 0";
            EXPECT_LE(std::abs(values[i] - before[i]), std::abs(before[i]) * std::ldexp(Float(1), -static_cast<int>(bits) - 1));
        }
        std::vector<Float> none{std::numeric_limits<Float>::quiet_NaN()};
        round_mantissas(rounding, std::as_writable_bytes(std::span(none)));
        EXPECT_TRUE(std::isnan(none[0]));
    }
    for (const uint64_t bits : {uint64_t{0}, mantissa, mantissa + 1}) EXPECT_FALSE((Rounding{type, bits, {}}.rounds()));
}

TEST(Rounding, KeepsTheBitsThatItSays) {
    check_rounding<float, uint32_t>(Type::F32, 23);
    check_rounding<double, uint64_t>(Type::F64, 52);
    EXPECT_FALSE((Rounding{Type::I32, 5, {}}.rounds()));
}

}  // namespace
}  // namespace tailrace
