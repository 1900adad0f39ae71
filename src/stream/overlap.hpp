// Overlap: steps are written by a thread while the simulation computes. Whether another step has room, and what happens if not.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "part/write_queue.hpp"
#include "stream/step_in_flight.hpp"

namespace tailrace {

class Overlap {
public:
    // Collective with overlap, whose thread it starts. Without, the queue does all work at once.
    Overlap(const Communicator& ranks, const StreamConfig& config);

    WriteQueue& queue() const { return *queue_; }
    bool is_on() const { return queue_->is_async(); }

    // overlap_policy = drop: whether this rank has no room for the next step, which all ranks then skip. `unwritten_steps`: those
    // in flight that it has not written.
    bool must_skip_step(uint64_t unwritten_steps) const;
    void count_skipped_step() { ++skipped_steps_; }
    // Waits until fewer steps are in flight than the layout allows. The next step's bytes are counted from here.
    void wait_for_slot(const std::deque<StepInFlight>& in_flight);
    void end_step() { step_bytes_ = queue_->copied_bytes() - bytes_before_; }

    Json report(size_t steps_in_flight) const;

private:
    const StreamConfig& config_;
    std::unique_ptr<WriteQueue> queue_;
    uint64_t bytes_before_ = 0, step_bytes_ = 0;  // copied into the window: before the step; of the step before
    uint64_t skipped_steps_ = 0;
    double wait_for_slot_s_ = 0;
};

}  // namespace tailrace
