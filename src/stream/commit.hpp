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

    // Writes the step's line of the journal, without overlap. Called on rank 0, within the agreement in which all ranks report that
    // they have written the step.
    void journal_step(StepInFlight& step, const StepInput& input, uint64_t bytes, uint64_t digest);
    // Called on every rank after the agreement in which rank 0 wrote the step's line of the journal.
    void on_step_committed(const StepInFlight& step, StepInput& input);

    // Adds a step to those in flight, with overlap: the ranks have agreed to take it. A later failure is an error of the next call.
    void add_in_flight(StepInFlight step, StepInput& input, uint64_t bytes);
    // How many steps in flight this rank has not written yet; it reports this number to the others.
    uint64_t unwritten_steps() const;
    // How many steps in flight rank 0 has committed; rank 0 reports this number to the others.
    uint64_t committed_steps() const;
    // For the vote on a step that is written: how many committed steps readers of this rank's part do not see yet.
    uint64_t unshown_steps() const { return last_committed_ ? last_committed_->unshown_steps() : 0; }
    // Called on rank 0. `steps`: the largest unshown_steps() of all ranks. All parts show the steps before these last ones.
    void note_unshown(uint64_t steps) {
        if (last_committed_) upkeep_.on_steps_shown(committed_end_ - steps);
    }
    // Collective. `unwritten`: the largest unwritten_steps() of all ranks; `committed`: committed_steps() of rank 0. Removes the
    // committed steps from those in flight, and gives rank 0's thread the steps that all ranks have written, to commit them.
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

    // The error that ended overlapped writing on this rank, if there was one. It names the first step that will not be committed.
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
    size_t submitted_ = 0;                // how many of in_flight_ rank 0's thread has got to commit
    int calls_without_upkeep_ = 0;        // the same number on all ranks
    bool error_reported_ = false;
    std::shared_ptr<const Group> last_committed_;  // the group of the step that was committed last
    uint64_t committed_end_ = 0;                   // the number of the step after the one that was committed last
    std::optional<Error> kept_error_;              // an error of work between agreements: the next call throws it
};

}  // namespace tailrace
