// The commit of steps: those in flight, what the ranks report of them, and the lines of the journal. Without overlap a step is
// committed within the agreement that follows its write. With overlap it is in flight until all ranks have reported that they have
// written it; rank 0's thread then commits it, in the order of the steps.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "part/write_queue.hpp"
#include "stream/stage_times.hpp"
#include "stream/step_in_flight.hpp"
#include "stream/step_input.hpp"
#include "stream/step_writer.hpp"
#include "stream/stream_journal.hpp"
#include "stream/upkeep.hpp"

namespace tailrace {

class Commit {
public:
    Commit(const Communicator& ranks, std::string stream, WriteQueue& queue, StreamJournal& journal, StepWriter& writer,
           Upkeep& upkeep, StageTimes& times)
        : ranks_(ranks), stream_(std::move(stream)), queue_(queue), journal_(journal), writer_(writer), upkeep_(upkeep),
          times_(times) {}

    // Without overlap. Rank 0, within the agreement in which all ranks report that they have written the step.
    void journal_step(StepInFlight& step, const StepInput& input, uint64_t bytes, uint64_t digest);
    // After that agreement, on every rank.
    void on_step_committed(const StepInFlight& step, StepInput& input);

    // With overlap. The ranks have agreed to take the step. What fails from now on is an error of the next call.
    void add_in_flight(StepInFlight step, StepInput& input, uint64_t bytes);
    // What a rank reports: the steps in flight that it has not written, and on rank 0 those that it has committed.
    uint64_t unwritten_steps() const;
    uint64_t committed_steps() const;
    // For the vote on a step that is written: how many committed steps readers of this rank's part do not see yet.
    uint64_t unshown_steps() const { return last_committed_ ? last_committed_->unshown_steps() : 0; }
    // Rank 0. The most of all ranks: all parts show the steps before these.
    void note_unshown(uint64_t steps) {
        if (last_committed_) upkeep_.on_steps_shown(committed_end_ - steps);
    }
    // Collective. `unwritten`: the most on any rank; `committed`: on rank 0. Steps that rank 0 has committed are no longer in
    // flight, and those that all ranks have written are given to rank 0's thread.
    void commit_ready_steps(uint64_t unwritten, uint64_t committed);
    // Collective; Vote: FlushVote or CloseVote. Waits until all steps are committed that can be. Returns this rank's error.
    template <class Vote>
    std::optional<Error> drain() {
        for (int round = 0; round < 2; ++round) {
            queue_.wait();
            const Vote all =
                agree(ranks_, Vote{.unwritten_steps = unwritten_steps(), .committed_steps = committed_steps()}, std::nullopt);
            commit_ready_steps(all.unwritten_steps, all.committed_steps);
        }
        queue_.wait();
        return error();
    }
    const std::deque<StepInFlight>& in_flight() const { return in_flight_; }

    // The error that ended overlapped writing on this rank, if one did. It names the first step that will not be committed.
    std::optional<Error> error() const;
    // All ranks got this error. An error of overlapped writing is then known on all of them.
    void note_reported(const Error& error) { error_reported_ = error_reported_ || error.origin() == Origin::background_writer; }
    bool error_was_reported() const { return error_reported_; }

private:
    bool will_be_committed(const StepInFlight& step) const;
    void submit_commit(StepInFlight& step, uint64_t digest);
    void after_commit(const StepInFlight& step);
    void keep_error(std::optional<Error> error);

    const Communicator& ranks_;
    const std::string stream_;
    WriteQueue& queue_;
    StreamJournal& journal_;
    StepWriter& writer_;
    Upkeep& upkeep_;
    StageTimes& times_;
    std::deque<StepInFlight> in_flight_;  // the same steps on all ranks
    size_t submitted_ = 0;                // of them, those whose commit rank 0's thread has
    int calls_without_upkeep_ = 0;        // the same on all ranks
    bool error_reported_ = false;
    std::shared_ptr<const Group> last_committed_;  // the group of the step that was committed last
    uint64_t committed_end_ = 0;                   // the number after that step's
    std::optional<Error> kept_error_;              // of work between agreements: thrown by the next call
};

}  // namespace tailrace
