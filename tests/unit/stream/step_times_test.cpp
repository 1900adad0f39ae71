#include "stream/step_times.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"

namespace tailrace {
namespace {

StepTimes times_of(const std::vector<double>& times) {
    StepTimes all;
    for (const double time : times) all.add(time);
    return all;
}

bool accepts(const std::vector<double>& times, double next) {
    try {
        times_of(times).check(next, "stream 'h'");
        return true;
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), Status::BAD_ORDER);
        return false;
    }
}

TEST(StepTimes, GoOnInTheDirectionOfTheFirstTwo) {
    EXPECT_TRUE(accepts({}, 0));
    EXPECT_TRUE(accepts({1}, 0));
    EXPECT_TRUE(accepts({1}, 2));
    EXPECT_FALSE(accepts({1}, 1));
    EXPECT_TRUE(accepts({1, 2}, 2.5));
    EXPECT_FALSE(accepts({1, 2}, 2));
    EXPECT_FALSE(accepts({1, 2}, 1.5));
    EXPECT_TRUE(accepts({2, 1}, 0));
    EXPECT_FALSE(accepts({2, 1}, 1));
    EXPECT_FALSE(accepts({2, 1}, 3));
}

TEST(StepTimes, OfAStreamThatAnOlderVersionWrote) {
    EXPECT_TRUE(accepts({1, 1, 2, 1.5}, 1.75)) << "the direction is that of the first two different times";
    EXPECT_FALSE(accepts({1, 1, 2, 1.5}, 1.25));
    StepTimes copied = times_of({1, 2});
    copied.accept_all();
    EXPECT_NO_THROW(copied.check(0, "stream 'h'"));
}

TEST(StepTimes, TheMessageHasBothTimesAndTheRemedies) {
    const Error error = error_of([] { times_of({0.5, 1, 1.5}).check(0.1, "stream 'h' in out"); });
    EXPECT_STREQ(
        error.what(),
        "stream 'h' in out: a step at time 0.1 does not follow: the last step has the time 1.5, and the times increase, from "
        "0.5 to 1. To write the steps from there on again, open with mode = 'resume' and resume_before = 0.1; to begin anew, "
        "with mode = 'replace'; or write to another stream");
}

TEST(StepTimes, StepsBeforeATime) {
    EXPECT_EQ(steps_before({}, 1), 0u);
    EXPECT_EQ(steps_before({1, 2, 3}, 2), 1u);
    EXPECT_EQ(steps_before({1, 2, 3}, 2.5), 2u);
    EXPECT_EQ(steps_before({1, 2, 3}, 9), 3u);
    EXPECT_EQ(steps_before({1, 2, 3}, 0), 0u);
    EXPECT_EQ(steps_before({3, 2, 1}, 2), 1u);
    EXPECT_EQ(steps_before({3, 2, 1}, 0), 3u);
    EXPECT_EQ(steps_before({5}, 4), 0u) << "one step counts as one of a stream that increases";
    EXPECT_EQ(steps_before({5}, 6), 1u);
    EXPECT_EQ(steps_before({1, 2, 3, 2, 3, 4}, 3), 2u) << "all behind the first step that leaves go with it";
}

TEST(StepTimes, WhatIsKeptOfEarlierSteps) {
    EarlierSteps steps{{4, 5, 7}, {1, 2, 3}, 4, 3};
    EXPECT_EQ(steps.next_step(), 8u);
    EXPECT_FALSE(steps.some_leave());
    steps.keep_before(3);
    EXPECT_TRUE(steps.some_leave());
    EXPECT_EQ(steps.first_leaving(), 7u);
    EXPECT_EQ(steps.next_step(), 6u);
    EXPECT_NO_THROW(steps.kept_times().check(2.5, ""));
    steps.keep_before(0);
    EXPECT_EQ(steps.next_step(), 4u) << "retention has used the numbers below";
    EXPECT_NO_THROW(steps.kept_times().check(-1, ""));
    steps.forget_leaving();
    EXPECT_FALSE(steps.some_leave());
}

}  // namespace
}  // namespace tailrace
