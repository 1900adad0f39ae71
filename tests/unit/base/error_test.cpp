#include "base/error.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../error_of.hpp"
#include "base/checksum.hpp"
#include "base/type.hpp"

namespace tailrace {
namespace {

TEST(Error, HasStatusAndText) {
    const Error error = error_of([] { fail(Status::BAD_SHAPE, "variable '", "T", "' has ", 3, " dimensions"); });
    EXPECT_EQ(error.status(), Status::BAD_SHAPE);
    EXPECT_STREQ(error.what(), "variable 'T' has 3 dimensions");
}

TEST(Error, EachStatusHasANameAndAPhraseOfItsOwn) {
    std::set<std::string> names, phrases;
    int status = 0;
    for (; status_name(status); ++status) {
        EXPECT_TRUE(names.insert(status_name(status)).second) << status;
        ASSERT_NE(status_text(status), nullptr);
        EXPECT_TRUE(phrases.insert(status_text(status)).second) << status;
    }
    EXPECT_EQ(status, static_cast<int>(Status::OVERTAKEN) + 1) << "numbers follow each other";
    EXPECT_EQ(status_text(status), nullptr);
    EXPECT_EQ(status_name(-1), nullptr);
}

TEST(Type, CodesEndInTheirBytes) {
    int number = 0;
    for (; is_type(number); ++number) {
        const std::string code = type_code(static_cast<Type>(number));
        EXPECT_EQ(code.size(), 2u);
        EXPECT_EQ(code.substr(1), std::to_string(type_bytes(static_cast<Type>(number))));
    }
    EXPECT_EQ(number, 11);
    EXPECT_FALSE(is_type(-1));
}

TEST(Checksum, OfPiecesIsThatOfTheWhole) {
    // From the reference implementation: XXH3, 64 bits, of nothing.
    EXPECT_EQ(Checksum::of(nullptr, 0), 0x2d06800538d394c2u);
    std::string bytes;
    for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 31 % 251);
    for (const size_t cut : {0, 1, 255, 256, 4999, 5000}) {
        Checksum sum;
        sum.add(bytes.data(), cut);
        sum.add(bytes.data() + cut, bytes.size() - cut);
        EXPECT_EQ(sum.value(), Checksum::of(bytes.data(), bytes.size())) << cut;
        sum.reset();
        EXPECT_EQ(sum.value(), Checksum::of(nullptr, 0));
    }
}

}  // namespace
}  // namespace tailrace
