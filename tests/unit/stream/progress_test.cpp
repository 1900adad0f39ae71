// The states of a stream: every pair of a state and an event is either in the table or refused.
#include "stream/progress.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "../error_of.hpp"

namespace tailrace {
namespace {

constexpr State kStates[] = {State::defining,      State::in_first_step, State::ready, State::in_step,
                             State::after_failure, State::in_retry,      State::closed};
constexpr Event kEvents[] = {Event::begin_step,     Event::freeze_definitions, Event::take_step,
                             Event::leave_out_step, Event::fail_step,          Event::close};

// Does not read the table: a wrong line there must not make the test wrong, too.
std::optional<State> expected(State from, Event event) {
    const bool first = from == State::in_first_step, frozen = from == State::in_step || from == State::in_retry;
    if (from == State::closed) return std::nullopt;
    switch (event) {
        case Event::begin_step:
            if (from == State::defining) return State::in_first_step;
            if (from == State::ready) return State::in_step;
            if (from == State::after_failure) return State::in_retry;
            return std::nullopt;
        case Event::freeze_definitions: return first ? std::optional(State::in_step) : std::nullopt;
        case Event::take_step: return frozen ? std::optional(State::ready) : std::nullopt;
        case Event::leave_out_step:
            if (first) return State::defining;
            return frozen ? std::optional(State::ready) : std::nullopt;
        case Event::fail_step: return first || from == State::defining ? State::defining : State::after_failure;
        case Event::close: return State::closed;
    }
    return std::nullopt;
}

Progress progress_in(State state) {
    Progress progress;
    if (state == State::defining) return progress;
    if (state == State::closed) return progress.close(), progress;
    progress.begin_step();
    if (state == State::in_first_step) return progress;
    progress.freeze_definitions();
    if (state == State::in_step) return progress;
    if (state == State::ready) return progress.take_step(), progress;
    progress.fail_step();
    if (state == State::in_retry) progress.begin_step();
    return progress;
}

void apply(Progress& progress, Event event) {
    switch (event) {
        case Event::begin_step: return progress.begin_step();
        case Event::freeze_definitions: return progress.freeze_definitions();
        case Event::take_step: return progress.take_step();
        case Event::leave_out_step: return progress.leave_out_step();
        case Event::fail_step: return progress.fail_step();
        case Event::close: return progress.close();
    }
}

TEST(Progress, legal_and_illegal_transitions) {
    for (const State from : kStates)
        for (const Event event : kEvents) {
            SCOPED_TRACE(testing::Message() << "state " << static_cast<int>(from) << ", event " << static_cast<int>(event));
            EXPECT_EQ(next_state(from, event), expected(from, event));
            Progress progress = progress_in(from);
            ASSERT_EQ(progress.state(), from);
            EXPECT_EQ(progress.allows(event), expected(from, event).has_value());
            if (expected(from, event)) {
                apply(progress, event);
                EXPECT_EQ(progress.state(), *expected(from, event));
            } else if (event == Event::fail_step) {
                progress.fail_step();  // what cleans up after an error throws none
                EXPECT_EQ(progress.state(), from);
            } else {
                EXPECT_EQ(error_of([&] { apply(progress, event); }).status(), Status::INTERNAL);
                EXPECT_EQ(progress.state(), from);
            }
        }
}

TEST(Progress, no_transition_is_listed_twice) {
    std::set<std::pair<State, Event>> seen;
    for (const auto& [from, event, to] : kTransitions)
        EXPECT_TRUE(seen.insert({from, event}).second) << static_cast<int>(from) << " " << static_cast<int>(event);
}

TEST(Progress, counts_the_steps_that_are_taken) {
    Progress progress;
    progress.continue_at(7);
    EXPECT_EQ(progress.next_step(), 7u);
    progress.begin_step();
    progress.freeze_definitions();
    progress.fail_step();
    EXPECT_FALSE(progress.has_taken_step());
    EXPECT_FALSE(progress.statics_stored());
    EXPECT_TRUE(progress.last_step_failed());
    progress.begin_step();
    EXPECT_TRUE(progress.last_step_failed());
    progress.take_step();
    EXPECT_FALSE(progress.last_step_failed());
    EXPECT_EQ(progress.next_step(), 8u);
    EXPECT_TRUE(progress.has_taken_step());
    EXPECT_TRUE(progress.statics_stored());
    progress.begin_step();
    progress.leave_out_step();
    EXPECT_EQ(progress.next_step(), 8u);
}

}  // namespace
}  // namespace tailrace
