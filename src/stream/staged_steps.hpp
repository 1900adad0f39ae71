// The steps of a stream with stage = scratch that all ranks have written, and whose parts are not all at the target. With each vote
// the ranks say how many of them have not arrived; rank 0 then commits the others, in their order.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "stream/outbox.hpp"
#include "stream/step_in_flight.hpp"
#include "stream/stream_journal.hpp"
#include "stream/upkeep.hpp"

namespace tailrace {

class StagedSteps {
public:
    // `outbox`: null on ranks that write no part.
    StagedSteps(const Communicator& ranks, bool is_on, Outbox* outbox, StreamJournal& journal, Upkeep& upkeep)
        : ranks_(ranks), is_on_(is_on), outbox_(outbox), journal_(journal), upkeep_(upkeep) {}

    bool is_on() const { return is_on_; }
    // Local, on all ranks, when rank 0 has staged the step. Without effect with stage = none.
    void add(const StepInFlight& step);
    // For the next vote: how many of the last steps have a part on this rank that has not arrived.
    uint64_t not_arrived() const;
    // On all ranks, with the largest not_arrived() of all.
    void commit_arrived(uint64_t not_arrived);
    // Collective; Vote: FlushVote or CloseVote. Waits until the parts of all groups that are complete have arrived, or cannot, and
    // commits their steps. Returns this rank's error.
    template <class Vote>
    std::optional<Error> deliver() {
        auto error = attempt([&] {
            if (auto stopped = wait_for_outbox()) throw *stopped;
        });
        const Vote all = agree(ranks_, Vote{.unwritten_steps = not_arrived()}, std::nullopt);
        commit_arrived(all.unwritten_steps);
        return error ? error : error_;
    }
    // How many steps are staged and not committed; the same on all ranks.
    uint64_t count() const { return groups_.size(); }
    // Local, when the program ends without closing the stream.
    std::optional<Error> wait_for_outbox() { return outbox_ != nullptr ? outbox_->wait() : std::nullopt; }
    // An error of rank 0's journal: the next call throws it.
    const std::optional<Error>& error() const { return error_; }
    uint64_t direct_files() const { return outbox_ != nullptr ? outbox_->counts().direct : 0; }
    Json report() const;

private:
    const Communicator& ranks_;
    const bool is_on_;
    Outbox* const outbox_;
    StreamJournal& journal_;
    Upkeep& upkeep_;
    std::deque<std::shared_ptr<Group>> groups_;  // of each staged step
    std::optional<Error> error_;
};

}  // namespace tailrace
