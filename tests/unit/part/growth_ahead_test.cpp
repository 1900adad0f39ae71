#include "part/growth_ahead.hpp"

#include <gtest/gtest.h>

namespace tailrace {
namespace {

constexpr uint64_t kLeastBytes = 4u << 20, kLong = 1u << 30;

TEST(GrowthAhead, FollowsWhatAStepNeeded) {
    GrowthAhead ahead;
    EXPECT_EQ(ahead.after_step(10.0, 1, 1000).bytes, kLeastBytes);
    EXPECT_EQ(ahead.after_step(10.1, 2, kLong).bytes, kLong - 1000);
}

TEST(GrowthAhead, WhatAnEarlierRunLeftIsNoGrowth) {
    GrowthAhead ahead;
    ahead.continue_part();
    const Growth first = ahead.after_step(10.0, 28, kLong);
    EXPECT_EQ(first.steps, 1u);
    EXPECT_EQ(first.bytes, kLeastBytes);
    EXPECT_EQ(ahead.after_step(10.1, 29, kLong + 10 * kLeastBytes).bytes, 10 * kLeastBytes);
}

}  // namespace
}  // namespace tailrace
