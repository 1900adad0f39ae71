#include "format/bytes.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tailrace::format {
namespace {

// From the driver of lookup3.c by its author, with HDF5's initial value of 0.
TEST(Bytes, lookup3_of_its_author) {
    const auto sum = [](const std::string& text) { return lookup3(std::as_bytes(std::span(text))); };
    EXPECT_EQ(sum(""), 0xdeadbeefu);
    EXPECT_EQ(sum("Four score and seven years ago"), 0x17770551u);
}

TEST(Bytes, four_sums_at_once_are_those_of_each) {
    for (uint64_t bytes = 0; bytes < 40; ++bytes) {
        std::array<std::vector<std::byte>, 4> pieces;
        std::array<const std::byte*, 4> at;
        for (size_t k = 0; k < 4; ++k) {
            for (uint64_t i = 0; i < bytes; ++i) pieces[k].push_back(static_cast<std::byte>(37 * i + 101 * k + 1));
            at[k] = pieces[k].data();
        }
        const auto sums = lookup3_of_4(at, bytes);
        for (size_t k = 0; k < 4; ++k) EXPECT_EQ(sums[k], lookup3(pieces[k])) << bytes << " bytes, piece " << k;
    }
}

TEST(Bytes, pieces_of_any_sizes_get_their_checksums) {
    Bytes bytes;
    std::vector<Bytes::Range> pieces;
    for (const uint64_t size : {5u, 30u, 30u, 30u, 30u, 30u, 30u, 30u, 7u, 30u, 0u}) {
        const uint64_t begin = bytes.size();
        for (uint64_t i = 0; i < size; ++i) bytes.put(static_cast<uint8_t>(11 * i + begin));
        bytes.put_zeros(kChecksumBytes);
        pieces.push_back({begin, bytes.size()});
        bytes.put_zeros(3);
    }
    bytes.set_checksums(pieces);
    for (const Bytes::Range& piece : pieces) {
        uint32_t sum = 0;
        std::memcpy(&sum, bytes.all().data() + piece.end - kChecksumBytes, sizeof sum);
        EXPECT_EQ(sum, lookup3(bytes.part(piece.begin, piece.end - kChecksumBytes))) << "at " << piece.begin;
    }
}

TEST(Bytes, numbers_are_little_endian_and_can_be_set_later) {
    Bytes bytes;
    bytes.put(uint16_t{0x0102});
    bytes.put_name("ab");
    bytes.put_zeros(4);
    bytes.set(5, uint32_t{0x01020304});
    const std::string all(reinterpret_cast<const char*>(bytes.all().data()), bytes.size());
    EXPECT_EQ(all, std::string("\x02\x01"
                               "ab\0\x04\x03\x02\x01",
                               9));
}

}  // namespace
}  // namespace tailrace::format
