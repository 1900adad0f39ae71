#include "stream/overlap.hpp"

#include "base/clock.hpp"
#include "gather/agree.hpp"

namespace tailrace {

Overlap::Overlap(const Communicator& ranks, const StreamConfig& config) : config_(config) {
    if (config.layout.overlap_steps == 0) {
        queue_ = std::make_unique<WriteQueue>();
        return;
    }
    const auto error = attempt([&] {
        const bool spills = config.overlap_policy == OverlapPolicy::spill;
        queue_ = std::make_unique<WriteQueue>(WriteWindow::Limits{config.overlap_bytes, spills ? config.spill_directory : ""});
    });
    agree(ranks, OpenVote{}, error);
}

bool Overlap::must_skip_step(uint64_t unwritten_steps) const {
    if (!is_on() || config_.overlap_policy != OverlapPolicy::drop) return false;
    return unwritten_steps >= config_.layout.overlap_steps || !queue_->has_room(step_bytes_);
}

void Overlap::wait_for_slot(const std::deque<StepInFlight>& in_flight) {
    bytes_before_ = queue_->copied_bytes();
    const uint64_t allowed = config_.layout.overlap_steps;
    if (in_flight.size() < allowed) return;
    Stopwatch watch;
    queue_->wait(in_flight[in_flight.size() - allowed].written_after);
    wait_for_slot_s_ += watch.lap();
}

Json Overlap::report(size_t steps_in_flight) const {
    const WriteWindow::Usage usage = queue_->usage();
    return {{"in_flight", steps_in_flight},
            {"window_bytes", usage.window_bytes},
            {"spilled_bytes", usage.spilled_bytes},
            {"waited_s", usage.waited_s + wait_for_slot_s_},
            {"dropped_steps", skipped_steps_}};
}

}  // namespace tailrace
