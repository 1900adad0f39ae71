#include "stage/escaped_name.hpp"

#include <gtest/gtest.h>

namespace tailrace {
namespace {

TEST(EscapedNameTest, EachByteComesBack) {
    std::string name;
    for (int byte = 0; byte < 256; ++byte) name += static_cast<char>(byte);
    const std::string escaped = escaped_name(name);
    EXPECT_EQ(unescaped_name(escaped), name);
    EXPECT_EQ(escaped.find('\n'), std::string::npos);
    EXPECT_EQ(unescaped_name(escaped_name("100%25 %")), "100%25 %");
}

TEST(EscapedNameTest, WhatIsNoCodeStays) {
    EXPECT_EQ(unescaped_name("100% sure, %2 and %zz"), "100% sure, %2 and %zz");
    EXPECT_EQ(unescaped_name(""), "");
}

}  // namespace
}  // namespace tailrace
