#include "base/json.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"

namespace tailrace {
namespace {

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(ParsedJson, HasLimits) {
    EXPECT_TRUE(parse_json(nested(JsonLimits::depth)).is_array());
    EXPECT_TRUE(parse_json(nested(JsonLimits::depth + 1)).is_discarded());
    EXPECT_TRUE(parse_json(nested(200'000)).is_discarded());
    EXPECT_TRUE(parse_json(R"({"a":")" + nested(100) + R"(\"[[["})").is_object()) << "brackets of a text do not count";
    std::string many = "{";
    for (size_t k = 0; k <= JsonLimits::keys; ++k) many += "\"" + std::to_string(k) + "\":0,";
    many.back() = '}';
    EXPECT_TRUE(parse_json(many).is_discarded());
    EXPECT_TRUE(parse_json("[" + many.substr(0, many.find(",\"4096")) + "},{\"a\":{}}]").is_array());
    for (const char* torn : {"", "{", "\"", "\"\\", "[}", "{\"a\":", "]]]]", "}"})
        EXPECT_TRUE(parse_json(torn).is_discarded()) << torn;
}

TEST(ParsedJson, NumbersAreOfOneKind) {
    const Json line = parse_json(R"({"a":18446744073709551615,"b":-1,"c":1.5,"d":true,"e":[1,2],"f":"7","g":[1,-2],"h":null})");
    EXPECT_EQ(count_at(line, "a"), UINT64_MAX);
    for (const char* key : {"b", "c", "d", "e", "f", "h"}) {
        const Error error = error_of([&] { count_at(line, key); });
        EXPECT_EQ(error.status(), Status::CORRUPT);
        EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
    }
    EXPECT_THROW(count_at(line, "absent"), Json::exception);
    EXPECT_EQ(count_at(line, "absent", 3), 3u);
    EXPECT_EQ(counts_of(line.at("e"), "e"), (std::vector<uint64_t>{1, 2}));
    EXPECT_EQ(error_of([&] { counts_of(line.at("g"), "g"); }).status(), Status::CORRUPT);
    EXPECT_EQ(error_of([&] { counts_of(line.at("a"), "a"); }).status(), Status::CORRUPT);
    EXPECT_EQ(real_at(line, "c"), 1.5);
    EXPECT_EQ(error_of([&] { real_at(line, "f"); }).status(), Status::CORRUPT);
}

}  // namespace
}  // namespace tailrace
