#include "record/definitions_difference.hpp"

#include <gtest/gtest.h>
#include <tailrace/tailrace.h>

#include <cmath>

#include "record/element_text.hpp"

namespace tailrace {
namespace {

const char* const kOneColumn[] = {"x"};

Definitions few_definitions() {
    Definitions definitions;
    definitions.define_dimension("x", 3);
    definitions.define_variable("T", TAILRACE_I16, 1, kOneColumn, 0);
    definitions.define_variable("mask", TAILRACE_I8, 1, kOneColumn, TAILRACE_STATIC);
    definitions.put_attribute("T", text_attribute("units", "K"));
    definitions.put_attribute("time", text_attribute("units", "days since 2000-01-01"));
    return definitions;
}

TEST(DefinitionsDifference, AttributesThatSayWhatValuesMean) {
    Definitions now = few_definitions();
    EXPECT_EQ(difference_in_meaning(few_definitions(), now), "");
    now.put_attribute("T", text_attribute("long_name", "temperature"));
    now.put_attribute("", text_attribute("units", "none of a variable"));
    EXPECT_EQ(difference_in_meaning(few_definitions(), now), "");
    now.put_attribute("T", text_attribute("units", "degC"));
    EXPECT_EQ(difference_in_meaning(few_definitions(), now), "attribute 'units' of variable 'T' is 'K' in its steps, here 'degC'");
    now.put_attribute("time", text_attribute("calendar", "noleap"));
    EXPECT_EQ(difference_in_meaning(few_definitions(), now),
              "attribute 'calendar' of variable 'time' is none in its steps, here 'noleap'");
    const int16_t fill = -2;
    now = few_definitions();
    now.put_attribute("T", number_attribute("_FillValue", Type::I16, 1, &fill));
    EXPECT_EQ(difference_in_meaning(few_definitions(), now),
              "attribute '_FillValue' of variable 'T' is none in its steps, here -2 (i2)");
    EXPECT_EQ(difference_in_meaning(now, few_definitions()),
              "attribute '_FillValue' of variable 'T' is -2 (i2) in its steps, here none");
}

TEST(DefinitionsDifference, ANewVariableComesLast) {
    Definitions now = few_definitions();
    now.define_dimension("z", 2);
    now.define_variable("Q", TAILRACE_F32, 1, kOneColumn, 0);
    EXPECT_EQ(difference_in_structure(few_definitions(), now), "");
    EXPECT_EQ(difference_in_structure(now, few_definitions()), "there are 2 dimensions there, here 1");
    now = few_definitions();
    now.define_dimension("particle", TAILRACE_RAGGED);
    EXPECT_EQ(difference_in_structure(few_definitions(), now), "dimension 'particle' is new and ragged, which no step there has");
    Definitions other;
    other.define_dimension("x", 3);
    other.define_variable("Q", TAILRACE_F32, 1, kOneColumn, 0);
    other.define_variable("T", TAILRACE_I16, 1, kOneColumn, 0);
    other.define_variable("mask", TAILRACE_I8, 1, kOneColumn, TAILRACE_STATIC);
    EXPECT_EQ(difference_in_structure(few_definitions(), other),
              "variable 0 is 'T' (i2) there, here 'Q' (f4) (a new variable is defined behind those that are there, and so is its "
              "dimension)");
}

TEST(DefinitionsDifference, DimensionsAndKindsAreNamedWithBothValues) {
    Definitions now;
    now.define_dimension("x", 4);
    EXPECT_EQ(difference_in_structure(few_definitions(), now), "dimension 0 is 'x' of length 3 there, here 'x' of length 4");
    now = Definitions();
    now.define_dimension("x", 3);
    now.define_variable("T", TAILRACE_I16, 1, kOneColumn, 0);
    now.define_variable("mask", TAILRACE_I8, 1, kOneColumn, 0);
    EXPECT_EQ(difference_in_structure(few_definitions(), now), "variable 1 is 'mask' (i1, static) there, here 'mask' (i1)");
}

TEST(ElementText, KeepsAllDigits) {
    const double tenth = 0.1;
    const float third = 1.0f / 3;
    const int8_t small = -5;
    const uint64_t large = UINT64_MAX;
    const char letter = 'K';
    const auto bytes = [](const auto& value) { return reinterpret_cast<const std::byte*>(&value); };
    EXPECT_EQ(element_text(Type::F64, bytes(tenth)), "0.1");
    EXPECT_EQ(element_text(Type::F32, bytes(third)), "0.33333334");
    EXPECT_EQ(element_text(Type::I8, bytes(small)), "-5");
    EXPECT_EQ(element_text(Type::U64, bytes(large)), "18446744073709551615");
    EXPECT_EQ(element_text(Type::CHAR, bytes(letter)), "'K'");
    const float many[] = {1, 2, 3, 4, 5, 6, 7};
    const Attribute list = number_attribute("flag_values", Type::F32, 7, many),
                    empty = number_attribute("none", Type::F32, 0, many);
    EXPECT_EQ(attribute_text(&list), "[1, 2, 3, 4, 5, 6, ...] (f4)");
    EXPECT_EQ(attribute_text(&empty), "[] (f4)");
    EXPECT_EQ(attribute_text(nullptr), "none");
}

TEST(ElementText, FirstDifferenceOfNumbers) {
    const double a[] = {NAN, 0.0, 1, 2}, b[] = {NAN, -0.0, 1, 3};
    const auto* first = reinterpret_cast<const std::byte*>(a);
    const auto* second = reinterpret_cast<const std::byte*>(b);
    EXPECT_EQ(first_difference(Type::F64, first, second, 4), 3u);
    EXPECT_EQ(first_difference(Type::F64, first, second, 3), 3u);
    EXPECT_EQ(first_difference(Type::F64, first, second, 0), 0u);
}

}  // namespace
}  // namespace tailrace
