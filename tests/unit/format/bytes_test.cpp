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
