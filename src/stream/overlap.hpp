// Overlap: a thread writes steps while the simulation computes. This class says whether another step has room, and waits for room.
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
    // With overlap: collective, starts the writing thread. Without overlap: local, and the queue does all work at once.
    Overlap(const Communicator& ranks, const StreamConfig& config);

    WriteQueue& queue() const { return *queue_; }
    bool is_on() const { return queue_->is_async(); }

    // Whether this rank has no room for the next step, with overlap_policy = drop; then all ranks skip the step. `unwritten_steps`:
    // how many steps in flight this rank has not written.
    bool must_skip_step(uint64_t unwritten_steps) const;
    void count_skipped_step() { ++skipped_steps_; }
    // Waits until fewer unwritten steps are in flight than the layout allows. Begins to count the bytes of the next step.
    void wait_for_slot(const std::deque<StepInFlight>& in_flight);
    // Ends the count of bytes that wait_for_slot() began.
    void end_step() { step_bytes_ = queue_->copied_bytes() - bytes_before_; }

    Json report(size_t steps_in_flight) const;

private:
    const StreamConfig& config_;
    std::unique_ptr<WriteQueue> queue_;
    uint64_t bytes_before_ = 0, step_bytes_ = 0;  // bytes copied into the window: before this step began; for the last whole step
    uint64_t skipped_steps_ = 0;
    double wait_for_slot_s_ = 0;
};

}  // namespace tailrace
