// The journal of a stream, and the history, which is the state that its lines describe. Both are on rank 0; the other ranks have an
// empty history.
#pragma once

#include <memory>
#include <string>

#include "base/journal.hpp"
#include "gather/communicator.hpp"
#include "layout/keys.hpp"
#include "part/write_queue.hpp"
#include "record/history.hpp"
#include "stream/earlier_runs.hpp"
#include "stream/step_in_flight.hpp"
#include "stream/step_input.hpp"
#include "stream/step_plan.hpp"
#include "stream/storage_choice.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

class StreamJournal {
public:
    // Lines go through the queue. `requested`: the settings that were given, for the run's line. Takes over the history and the
    // choice of storage of `earlier`.
    StreamJournal(const Communicator& ranks, StreamPaths paths, const StreamConfig& config, WriteQueue& queue, Json requested,
                  EarlierRuns& earlier);

    const History& history() const { return history_; }
    void forget_groups(const std::vector<size_t>& gone) { history_.forget_groups(gone); }
    const StorageChoice& storage() const { return storage_; }
    const Json& requested() const { return requested_; }
    // For a conversion: sets the source that its steps are copied from.
    void set_origin(Json origin) { origin_ = std::move(origin); }

    // Rank 0, at a run's first step, before its first bytes are written. Throws unless the run fits the earlier steps that are
    // kept. Then begins the run's segment of the journal.
    void begin_run(const Definitions& definitions, const StepData& data, const EarlierSteps& steps);
    // Rank 0. Appends the lines that must precede the line of a step: the run's line (with its first step), a new plan, and the new
    // blocks of a part that has grown.
    void journal_run(const StepInput& input, const StepPlan& plan, const Group& group);
    // Rank 0. Appends the lines of a stream without steps: the run, and the values of its arrays, which are static and replicated.
    void journal_static(const Definitions& definitions, const StepData& data);
    // Rank 0. Commits a step: puts its files in place and appends its line. With stage = scratch, stages it instead.
    void journal_step(const StepInFlight& step, uint64_t digest, WriteQueue::Needs needs);
    // Rank 0, with stage = scratch. Commits the first staged step: its parts are at the target.
    void commit_staged_step();
    // For a run with stage = scratch, before its first step.
    void set_scratch(ScratchPlaces places) { scratch_ = std::move(places); }
    // Rank 0. Appends the line which says that the steps [first, last] are no longer kept.
    void journal_drop(uint64_t first, uint64_t last, bool sync);
    // Rank 0, before the first step of a run: removes the steps from `first` on from the stream, then their files.
    void drop_from(uint64_t first);
    // The number of the journal's plan line for the steps that are written now; 0 if there is no such line.
    uint64_t plan_number(const StepPlan& plan) const { return plan.part_boxes().empty() ? 0 : plan_number_; }
    // Rank 0. Reads the history from the files again, called when the queue could not append all lines.
    void reload();
    // Rank 0. The run's lock and segment; null on the others.
    const WriteAccess* access() const { return access_.get(); }
    // Throws OVERTAKEN if this run already knows that another run writes the stream. Reads no file.
    void check_not_overtaken() const {
        if (access_) access_->check_not_overtaken();
    }
    // Rank 0, called when all ranks have written everything. From then on the next run may write into this run's files.
    void end_run() { access_->end(); }
    void release() noexcept {
        if (access_) access_->release();
    }

private:
    void append(const Json& line, bool sync) const { append_line(journal_line(line), sync, WriteQueue::Needs::all_earlier_work()); }
    void append_line(std::string line, bool sync, WriteQueue::Needs needs) const;
    void journal_run_line(const StepInput& input, const Group& group);
    void journal_coordinates(const StepInput& input);
    void journal_plan(const StepPlan& plan);
    void stage_step(const StepEntry& entry, const GroupEntry& group);
    bool syncs_steps() const { return config_.layout.storage.durability == Durability::step; }

    const Communicator& ranks_;
    const StreamPaths paths_;
    const StreamConfig& config_;
    WriteQueue& queue_;
    const Json requested_;
    const std::shared_ptr<WriteAccess> access_;
    History history_;
    StorageChoice storage_;  // its striping as read back from the first part
    Json origin_ = Json::object();
    ScratchPlaces scratch_;      // of this run; without a token: stage = none
    uint64_t plan_number_;       // of the last plan line
    uint64_t plan_version_ = 0;  // of the plan in that line
};

}  // namespace tailrace
