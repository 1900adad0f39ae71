#include "stream/progress.hpp"

#include "base/error.hpp"

namespace tailrace {

void Progress::move(Event event) {
    const auto next = next_state(state_, event);
    if (!next)
        fail(Status::INTERNAL, "a stream in state ", static_cast<int>(state_), " cannot do event ", static_cast<int>(event),
             " (src/stream/progress.hpp)");
    state_ = *next;
}

void Progress::take_step() {
    move(Event::take_step);
    ++next_step_;
    statics_stored_ = true;
}

void Progress::fail_step() noexcept {
    if (const auto next = next_state(state_, Event::fail_step)) state_ = *next;
}

}  // namespace tailrace
