// Each way is timed, then the fastest is used.
#include "base/fastest_way.hpp"

#include <gtest/gtest.h>

#include <array>

namespace tailrace {
namespace {

TEST(FastestWay, IsFoundAfterEachWasTimed) {
    FastestWay<3> ways;
    std::array<int, 3> tries{};
    const std::array<double, 3> seconds{3, 1, 2};
    while (!ways.is_found()) {
        const size_t way = ways.next();
        ++tries.at(way);
        ways.add(way, 1000, seconds.at(way));
    }
    EXPECT_EQ(tries, (std::array<int, 3>{3, 3, 3}));
    EXPECT_EQ(ways.next(), 1u);
}

// An interrupted process takes longer: the least of the timings counts.
TEST(FastestWay, OneSlowTimingDoesNotCount) {
    FastestWay<2> ways;
    for (const double seconds : {1.0, 100.0, 1.0}) ways.add(0, 10, seconds);
    for (const double seconds : {2.0, 2.0, 2.0}) ways.add(1, 10, seconds);
    EXPECT_EQ(ways.next(), 0u);
}

// A way that cannot be used now was not timed: it is tried again.
TEST(FastestWay, WhatWasNotTimedIsTriedAgain) {
    FastestWay<2> ways;
    for (int k = 0; k < 5; ++k) ways.add(1, 10, 1.0);
    EXPECT_EQ(ways.next(), 0u);
    EXPECT_FALSE(FastestWay<2>().is_found());
}

}  // namespace
}  // namespace tailrace
