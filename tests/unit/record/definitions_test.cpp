#include "record/definitions.hpp"

#include <gtest/gtest.h>
#include <tailrace/tailrace.h>

#include <cmath>
#include <limits>

#include "../error_of.hpp"
#include "record/block_name.hpp"
#include "record/definitions_json.hpp"

namespace tailrace {
namespace {

const char* const kRowColumn[] = {"y", "x"};
const char* const kColumn[] = {"x"};

Definitions example() {
    Definitions definitions("t");
    definitions.define_dimension("y", 3);
    definitions.define_dimension("x", 0);
    definitions.define_variable("x", TAILRACE_F64, 1, kColumn, TAILRACE_STATIC | TAILRACE_REPLICATED);
    definitions.define_variable("T", TAILRACE_F32, 2, kRowColumn, 0);
    definitions.define_variable("topo", TAILRACE_I16, 2, kRowColumn, TAILRACE_STATIC);
    definitions.define_variable("mass", TAILRACE_F64, 0, nullptr, 0);
    const float nan = std::nanf("7");  // with a payload that must come back
    definitions.put_attribute("T", number_attribute("_FillValue", Type::F32, 1, &nan));
    definitions.put_attribute("T", text_attribute("units", "µ\"\\\nK"));
    definitions.put_attribute("T", text_attribute("comment", "21 \xB0\x43"));  // Latin-1, as old programs have it
    const int64_t range[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    definitions.put_attribute("mass", number_attribute("valid_range", Type::I64, 2, range));
    definitions.put_attribute("t", text_attribute("units", "hours since 2001-01-01"));
    definitions.put_attribute("", text_attribute("title", ""));
    const double pi = 3.141592653589793;
    definitions.put_attribute("", number_attribute("pi", Type::F64, 1, &pi));
    return definitions;
}

TEST(Definitions, ComeBackFromJson) {
    const Definitions definitions = example();
    const Definitions back = definitions_of(Json::parse(definitions_json(definitions).dump()));
    EXPECT_EQ(back.time_name(), "t");
    EXPECT_EQ(back.dimensions(), definitions.dimensions());
    EXPECT_EQ(back.variables(), definitions.variables());
    EXPECT_EQ(back.attributes(), definitions.attributes());
    EXPECT_EQ(back.time_attributes(), definitions.time_attributes());
    EXPECT_EQ(back.fingerprint(), definitions.fingerprint());
    const std::vector<std::byte>& fill = back.variables()[1].fill;
    ASSERT_EQ(fill.size(), 4u);
    float value;
    std::memcpy(&value, fill.data(), sizeof value);
    EXPECT_TRUE(std::isnan(value));
}

TEST(Definitions, FingerprintTellsEveryDifference) {
    const uint64_t same = example().fingerprint();
    EXPECT_EQ(example().fingerprint(), same);
    Definitions other = example();
    other.put_attribute("T", text_attribute("units", "K"));
    EXPECT_NE(other.fingerprint(), same);
    other = example();
    other.define_dimension("z", 1);
    EXPECT_NE(other.fingerprint(), same);
    other = example();
    const float zero = 0, minus_zero = -0.0f;
    other.put_attribute("T", number_attribute("_FillValue", Type::F32, 1, &zero));
    const uint64_t with_zero = other.fingerprint();
    other.put_attribute("T", number_attribute("_FillValue", Type::F32, 1, &minus_zero));
    EXPECT_NE(other.fingerprint(), with_zero) << "to the last bit";
}

TEST(Definitions, StructureIsComparedWithoutAttributes) {
    std::string why;
    Definitions other = example();
    other.put_attribute("", text_attribute("title", "another run"));
    EXPECT_TRUE(example().same_structure(other, why)) << why;
    other.define_variable("more", TAILRACE_F32, 1, kColumn, 0);
    EXPECT_FALSE(example().same_structure(other, why));
    EXPECT_EQ(why, "there are 5 variables there, here 4");
    EXPECT_FALSE(example().same_structure(Definitions("time"), why));
    EXPECT_EQ(why, "the time dimension is 'time' there, 't' here");
}

TEST(Definitions, AnAttributeIsReplaced) {
    Definitions definitions = example();
    const size_t before = definitions.attributes().size();
    definitions.put_attribute("", text_attribute("title", "new"));
    EXPECT_EQ(definitions.attributes().size(), before);
    EXPECT_EQ(definitions.attributes()[0], text_attribute("title", "new"));
}

TEST(Definitions, UnknownVariableNamesThoseThatAre) {
    Definitions definitions = example();
    const Error error = error_of([&] { definitions.index_of("t2m"); });
    EXPECT_EQ(error.status(), Status::NOT_FOUND);
    EXPECT_STREQ(error.what(), "variable 't2m' is not defined; defined are: x, T, topo, mass");
    for (int v = 0; v < 30; ++v) definitions.define_variable("v" + std::to_string(v), TAILRACE_I8, 1, kColumn, 0);
    EXPECT_TRUE(std::string(error_of([&] { definitions.index_of("t2m"); }).what()).ends_with("v15, ..."));
}

TEST(Definitions, AFailedDefinitionLeavesNothingBehind) {
    Definitions definitions = example();
    const uint64_t before = definitions.fingerprint();
    const char* const unknown[] = {"y", "z"};
    const float infinite = INFINITY;
    const double wrong_type = 0;
    EXPECT_EQ(error_of([&] { definitions.define_variable("U", TAILRACE_F32, 2, unknown, 0); }).status(), Status::BAD_SHAPE);
    EXPECT_EQ(error_of([&] { definitions.define_dimension("t", 3); }).status(), Status::BAD_ARGUMENT);
    EXPECT_EQ(error_of([&] { definitions.define_dimension("bell\a", 3); }).status(), Status::BAD_ARGUMENT);
    EXPECT_EQ(error_of([&] { definitions.define_dimension(" x", 3); }).status(), Status::BAD_ARGUMENT);
    EXPECT_EQ(error_of([&] { definitions.put_attribute("T", number_attribute("limit", Type::F32, 1, &infinite)); }).status(),
              Status::BAD_ATTRIBUTE);
    EXPECT_EQ(error_of([&] { definitions.put_attribute("T", number_attribute("_FillValue", Type::F64, 1, &wrong_type)); }).status(),
              Status::BAD_ATTRIBUTE);
    EXPECT_EQ(definitions.fingerprint(), before);
}

}  // namespace
// "é" as one code point, and as a letter with an accent behind it.
const std::string kComposed = "\xC3\xA9", kDecomposed = "e\xCC\x81";

Definitions with_name(const std::string& name, Definitions::Spelling spelling) {
    Definitions definitions("time", spelling);
    definitions.define_dimension(name, 2);
    const char* dims[] = {name.c_str()};
    definitions.define_variable(name + "_T", TAILRACE_F64, 1, dims, 0);
    definitions.put_attribute(name + "_T", text_attribute(name, "K"));
    return definitions;
}

TEST(Definitions, NamesAreStoredInNfcAndFoundByEitherSpelling) {
    Definitions definitions = with_name(kDecomposed, Definitions::Spelling::nfc);
    EXPECT_EQ(definitions.dimension(0).name, kComposed);
    EXPECT_EQ(definitions.variables()[0].name, kComposed + "_T");
    EXPECT_EQ(definitions.variables()[0].attributes[0].name, kComposed);
    for (const std::string& spelling : {kComposed, kDecomposed}) {
        EXPECT_EQ(definitions.index_of(spelling + "_T"), 0u);
        EXPECT_EQ(definitions.find_dimension(spelling), 0);
        const Error twice = error_of([&] { definitions.define_dimension(spelling, 3); });
        EXPECT_TRUE(std::string(twice.what()).find("defined twice") != std::string::npos);
    }
}

TEST(Definitions, AnEarlierStreamKeepsItsSpelling) {
    const Definitions before = with_name(kDecomposed, Definitions::Spelling::as_stored);
    const Definitions read = definitions_of(definitions_json(before));
    EXPECT_EQ(read.variables()[0].name, kDecomposed + "_T");
    for (const std::string& spelling : {kComposed, kDecomposed}) EXPECT_EQ(read.index_of(spelling + "_T"), 0u);
    const Definitions converted = definitions_of(definitions_json(before), Definitions::Spelling::nfc);
    EXPECT_EQ(converted.fingerprint(), with_name(kComposed, Definitions::Spelling::nfc).fingerprint());
}

TEST(Definitions, OnlyACoordinateHasTheArrayOfADimensionsName) {
    Definitions definitions;
    definitions.define_dimension("z", 3);
    definitions.define_dimension("y", 2);
    const char* dims[] = {"y", "z"};
    definitions.define_variable("z", TAILRACE_F64, 1, dims + 1, TAILRACE_STATIC | TAILRACE_REPLICATED);
    definitions.define_variable("y", TAILRACE_F64, 2, dims, TAILRACE_STATIC);
    definitions.define_variable("T", TAILRACE_F64, 2, dims, 0);
    std::vector<std::string> names;
    for (const Variable& variable : definitions.variables()) names.push_back(definitions.array_name(variable));
    EXPECT_EQ(names, (std::vector<std::string>{"z", "_nc4_non_coord_y", "T"}));
    for (const std::string& name : names) EXPECT_EQ(variable_of_block(definitions, name + ".7").second, 7u);
}

TEST(Definitions, ListsOfTextsComeBackFromJson) {
    Definitions definitions;
    definitions.put_attribute("", texts_attribute("flags", {"good", "", "bad, worse"}));
    definitions.put_attribute("", texts_attribute("one", {"alone"}));
    const Json json = definitions_json(definitions);
    EXPECT_EQ(definitions_of(json).attributes(), definitions.attributes());
    EXPECT_EQ(definitions.attributes()[1], text_attribute("one", "alone"));
    EXPECT_EQ(json["attributes"][0]["text"], "good, , bad, worse");  // for versions that know no lists
}

}  // namespace tailrace
