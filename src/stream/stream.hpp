// A stream that is being written: definitions, steps, commit. Collective calls as in tailrace.h.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "part/write_queue.hpp"
#include "record/definitions.hpp"
#include "record/history.hpp"
#include "stream/group.hpp"
#include "stream/output.hpp"
#include "stream/packer.hpp"
#include "stream/ragged.hpp"
#include "stream/step_plan.hpp"
#include "stream/storage_choice.hpp"
#include "view/index.hpp"

namespace tailrace {

// A step that was accepted and is not committed yet.
struct StepInFlight {
    uint64_t step = 0;
    double time = 0, began_s = 0;
    uint64_t bytes = 0;  // of this rank's part where it is one of the step alone; when it is recorded, of all
    std::vector<uint64_t> ragged_lengths;
    std::shared_ptr<Group> group;
    std::shared_ptr<const PartContent> content;
    uint64_t number = 0;  // in its group
    std::shared_ptr<const Group::Written> written;
    uint64_t plan = 0;                                    // rank 0
    uint64_t when_written = 0;                            // work of the queue
    uint64_t when_committed = 0;                          // rank 0
    std::shared_ptr<std::atomic<double>> durable_s = {};  // rank 0: when it was committed
};

// Seconds that this rank has spent in each stage.
struct StageTimes {
    double agree_s = 0, plan_s = 0, write_s = 0, commit_s = 0, index_s = 0;
    uint64_t steps = 0;
    uint64_t written_again = 0;  // steps that it wrote before others had something to say of them
    double turn_s = 0;           // waited until fewer steps were in flight
    double durable_s = 0,
           longest_durable_s = 0;  // rank 0: from the call of end_step until a step was committed, summed; the longest
};

// Written by the ranks of its communicator.
class Stream final : public Output {
public:
    // Collective. `strongest`: keys and values that neither the configuration nor the environment may change.
    using KeyValues = std::vector<std::pair<std::string, std::string>>;
    Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const std::string& options,
           const KeyValues& strongest = {});
    // With settings that agree_settings() gave, on ranks that only write for others.
    Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const Json& settings);

    void end_step() override;
    void flush() override;
    void close() override;
    std::string report() const override;
    bool has_others() const override { return ranks_ && ranks_->size() > 1; }

    // Rank 0, before the first step: what a conversion copies, for its journal.
    void comes_from(Json origin) { origin_ = std::move(origin); }

private:
    // Collective. `set_aside`: these ranks only write.
    void start(MPI_Comm comm, const Json& settings, bool set_aside);
    void look_back();  // collective: what earlier runs committed
    void attributes_changed() override;
    // Collective. The plan is that of the lengths that the ranks have put.
    StepPlan::Change settle_lengths() {
        if (!ragged_) ragged_ = std::make_unique<RaggedLengths>(*ranks_);
        ragged_->agree_lengths(definitions_, data_);
        return plan_->agreed_change(definitions_, data_, with_static_next());
    }
    void settle_first_step() const;  // rank 0
    void check_history() const;      // rank 0
    std::optional<Error> open_group(bool other_parts);
    bool goes_on() const { return config_.layout.part_is_dataset() && !earlier_.blocks.empty(); }
    void describe();
    bool is_described();
    bool writes_first() const;
    void write_as_agreed(StepPlan::Change change, const Ballot& ready, const std::optional<Error>& error, double began_s,
                         Stopwatch& watch);
    void end_committed(Stopwatch& watch);
    StepInFlight written_step(double began_s, std::optional<Error>& error);
    std::shared_ptr<const Group::Written> write_step(std::optional<Error>& error);
    std::vector<std::vector<BlockView>> memory_of(const std::vector<size_t>& slabs) const;
    void pack_step(std::optional<Error>& error);
    void make_packer();
    void make_group(uint64_t start);
    // Overlap: when steps are written and committed.
    void start_queue();  // collective
    bool drops_step() const;
    void wait_for_turn();
    void count_in(const StepInFlight& step, Ballot& ballot) const;
    void commit(StepInFlight& step, const Ballot& wrote, const std::optional<Error>& error);  // collective
    void record(StepInFlight& step, const Ballot& all);
    void has_committed(const StepInFlight& step);
    void accept(StepInFlight step, const Ballot& all);
    void count_step();
    uint64_t steps_behind() const;
    uint64_t steps_committed() const;           // rank 0
    void commit_written(const Ballot& ballot);  // collective
    void step_is_committed(const StepInFlight& step);
    std::optional<Error> settle_in_flight(Call call);  // collective
    std::optional<Error> error_of_queue() const;
    void note_told(const Error& error);  // whichever rank it is of
    void keep_late(std::optional<Error> error);
    // The journal, on rank 0.
    void append(const Json& line, bool sync) const { append_line(journal_line(line), sync); }
    void append_line(std::string line, bool sync) const;
    void record_run();
    uint64_t plan_of_step() const;
    void record_step(const StepInFlight& step, uint64_t digest);
    void record_coordinates();  // rank 0
    void finish_group();        // local
    void drop_failed_step() noexcept;
    void drop_step() noexcept;
    void make_next_directory(uint64_t by);
    void remove_next_directory() noexcept;
    bool needs_group() const { return !group_ || group_->full(); }
    // Whether the next group holds static distributed variables: the first one of a run does, if there are any.
    bool with_static_next() const { return !static_written_ && definitions_.has_static_distributed(); }
    bool sync_step() const { return config_.layout.storage.durability == Durability::step; }
    bool sync_close() const { return config_.layout.storage.durability == Durability::close; }
    std::string path(const std::string& relative) const { return directory_ + "/" + relative; }
    void drop_old_steps();
    void refresh_index(bool closing);
    void tidy(bool closing);  // rank 0: retention and index
    void sync_written();      // local

    Json requested_;
    std::shared_ptr<Communicator> ranks_;
    std::unique_ptr<StepPlan> plan_;
    std::unique_ptr<RaggedLengths> ragged_;
    std::unique_ptr<WriteQueue> queue_;
    std::shared_ptr<const PartContent> content_;
    std::unique_ptr<Packer> packer_;  // none where nothing is compressed
    uint64_t content_plan_ = 0;
    bool content_static_ = false;
    std::optional<uint64_t> content_fingerprint_;  // of the definitions; the same on all ranks
    Group::ImageCache image_cache_;
    std::shared_ptr<Group> group_;
    std::deque<StepInFlight> in_flight_;  // with overlap: the accepted steps that are not known to be committed, on all ranks alike
    size_t asked_ = 0;                    // how many of them rank 0 has been asked to commit
    int calls_without_tidy_ = 0;          // on all ranks alike
    uint64_t bytes_before_ = 0, step_bytes_ = 0, dropped_steps_ = 0;
    bool queue_error_told_ = false;
    std::optional<Error> late_;
    std::shared_ptr<Journal> journal_;              // appended to by rank 0, through the queue
    History history_;                               // rank 0: of the stream; other ranks: empty
    uint64_t plan_number_ = 0, plan_recorded_ = 0;  // rank 0
    std::string next_directory_;                    // of the next step's parts, which this rank has made
    bool begun_here_ = false;                       // rank 0: there was no directory of parts
    Json origin_ = Json::object();                  // rank 0: of a conversion
    StorageChoice storage_;                         // in force; its striping as read back on rank 0
    PartGrowth earlier_;                            // of the part that is the dataset, from earlier runs
    bool earlier_static_ = false;
    size_t indexed_steps_ = 0;         // steps that the index shows as they are, as far as this run knows
    std::set<size_t> removed_groups_;  // numbers in history_
    bool started_ = false, dropped_ = false, index_due_ = false;
    double index_cost_s_ = 0, index_at_s_ = seconds_now();  // of the index written last
    std::vector<std::string> unsynced_;
    StageTimes times_;
};

}  // namespace tailrace
