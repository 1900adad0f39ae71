// The state of a stream on a rank: which calls it accepts now, and which step comes next.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

namespace tailrace {

enum class State {
    defining,       // no step was planned yet: dimensions and variables may be added
    in_first_step,  // within a step, and no step was planned yet
    ready,          // definitions are frozen; the next step may begin
    in_step,
    after_failure,  // the last step failed. Rank 0 may still be removing its files, so the next step must not be prepared early
    in_retry,       // within the step after a failed one
    closed,
};

enum class Event {
    begin_step,
    freeze_definitions,  // all ranks have agreed on them
    take_step,           // the step is accepted: committed, or with overlap in flight
    leave_out_step,      // overlap_policy = drop had no room for it
    fail_step,           // also outside a step: end_step without begin_step fails on all ranks
    close,
};

using Transition = std::tuple<State, Event, State>;  // from, event, to

// All legal transitions.
inline constexpr std::array kTransitions = {
    Transition{State::defining, Event::begin_step, State::in_first_step},
    Transition{State::in_first_step, Event::freeze_definitions, State::in_step},
    Transition{State::in_first_step, Event::leave_out_step, State::defining},
    Transition{State::in_first_step, Event::fail_step, State::defining},
    Transition{State::ready, Event::begin_step, State::in_step},
    Transition{State::in_step, Event::take_step, State::ready},
    Transition{State::in_step, Event::leave_out_step, State::ready},
    Transition{State::in_step, Event::fail_step, State::after_failure},
    Transition{State::after_failure, Event::begin_step, State::in_retry},
    Transition{State::in_retry, Event::take_step, State::ready},
    Transition{State::in_retry, Event::leave_out_step, State::ready},
    Transition{State::in_retry, Event::fail_step, State::after_failure},
    // end_step without begin_step.
    Transition{State::defining, Event::fail_step, State::defining},
    Transition{State::ready, Event::fail_step, State::after_failure},
    Transition{State::after_failure, Event::fail_step, State::after_failure},
    // A stream can be closed in every state; a step that has begun is dropped.
    Transition{State::defining, Event::close, State::closed},
    Transition{State::in_first_step, Event::close, State::closed},
    Transition{State::ready, Event::close, State::closed},
    Transition{State::in_step, Event::close, State::closed},
    Transition{State::after_failure, Event::close, State::closed},
    Transition{State::in_retry, Event::close, State::closed},
};

constexpr std::optional<State> next_state(State from, Event event) {
    for (const auto& [begin, cause, end] : kTransitions)
        if (begin == from && cause == event) return end;
    return std::nullopt;
}

class Progress {
public:
    State state() const { return state_; }
    bool allows(Event event) const { return next_state(state_, event).has_value(); }
    bool in_step() const { return state_ == State::in_first_step || state_ == State::in_step || state_ == State::in_retry; }
    bool definitions_frozen() const { return state_ != State::defining && state_ != State::in_first_step; }
    bool last_step_failed() const { return state_ == State::after_failure || state_ == State::in_retry; }

    // Each throws INTERNAL where the state does not allow it.
    void begin_step() { move(Event::begin_step); }
    void freeze_definitions() { move(Event::freeze_definitions); }
    void take_step();
    void leave_out_step() { move(Event::leave_out_step); }
    void fail_step() noexcept;
    void close() { move(Event::close); }

    // Gives this run's first step the number `step`, behind the steps that earlier runs committed.
    void continue_at(uint64_t step) { first_step_ = next_step_ = step; }
    uint64_t next_step() const { return next_step_; }
    bool has_taken_step() const { return next_step_ > first_step_; }  // whether this run has taken a step
    // Whether the static variables are stored: they are with the first step that is taken, or an earlier run stored them.
    bool statics_stored() const { return statics_stored_; }
    void mark_statics_stored() { statics_stored_ = true; }

private:
    void move(Event event);

    State state_ = State::defining;
    uint64_t first_step_ = 0, next_step_ = 0;
    bool statics_stored_ = false;
};

}  // namespace tailrace
