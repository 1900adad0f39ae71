// A stream that is being written: definitions, steps, commit. Collective calls as in tailrace.h.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "part/write_queue.hpp"
#include "stream/definitions.hpp"
#include "stream/group.hpp"
#include "stream/history.hpp"
#include "stream/index.hpp"
#include "stream/packer.hpp"
#include "stream/ragged.hpp"
#include "stream/step_data.hpp"
#include "stream/step_plan.hpp"
#include "stream/storage_choice.hpp"

namespace tailrace {

// A step that was accepted and is not committed yet.
struct StepInFlight {
    uint64_t step = 0;
    double time = 0, began_s = 0;
    uint64_t bytes = 0;
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
    double turn_s = 0;  // waited until fewer steps were in flight
    double durable_s = 0,
           longest_durable_s = 0;  // rank 0: from the call of end_step until a step was committed, summed; the longest
};

class Stream {
public:
    // Collective.
    Stream(MPI_Comm comm, const std::string& directory, const std::string& name, const std::string& options);

    Definitions& definitions();  // before the first step has ended
    void define_dimension(const std::string& name, uint64_t length) {
        check_length(config_.layout, name, length);
        definitions().define_dimension(name, length);
    }
    // All definitions of another stream, in place of any before.
    void adopt(const Definitions& other);
    void put_attribute(const std::string& variable, Attribute attribute);
    const Extents& shape_of(const std::string& variable) const {
        return definitions_.variables()[definitions_.index_of(variable)].shape;
    }
    void begin_step(double time);
    void put_block(const std::string& variable, const Box& box, const void* data, const std::vector<int64_t>& stride_bytes);
    void put_replicated(const std::string& variable, const void* data);
    // Keeps an error of a put on this rank: end_step then fails on all.
    void refuse_step(const Error& error);
    // Makes the next end_step fail on all ranks, also outside a step.
    void refuse_next(const Error& error) { refusal_ = error; }
    void end_step();  // collective
    void flush();     // collective
    void close();     // collective

    uint64_t step_count() const { return accepted_; }
    std::string report() const;

private:
    void configure(const std::string& options);  // collective
    void look_back();                            // collective: what earlier runs committed
    void check_step() const;
    // Collective. The plan is that of the lengths that the ranks have put.
    StepPlan::Change settle_lengths() {
        if (!ragged_) ragged_ = std::make_unique<RaggedLengths>(*ranks_);
        ragged_->settle(definitions_, data_);
        return plan_->agreed_change(definitions_, data_, with_static_next());
    }
    void settle_first_step();           // collective
    void check_history() const;         // rank 0
    void open_group(bool other_parts);  // collective
    bool goes_on() const { return config_.layout.part_is_dataset() && !earlier_.blocks.empty(); }
    void describe();
    std::shared_ptr<const Group::Written> write_step(std::optional<Error>& error);
    std::vector<std::vector<BlockView>> memory_of(const std::vector<size_t>& slabs) const;
    void pack_step(std::optional<Error>& error);
    void make_packer();
    void make_group(uint64_t start);
    void leave_step();
    // Overlap: when steps are written and committed.
    void start_queue();  // collective
    bool drops_step() const;
    void wait_for_turn();
    void commit(StepInFlight step, uint64_t digest);  // collective
    void accept(StepInFlight step);
    void count_step();
    uint64_t steps_behind() const;
    uint64_t steps_committed() const;           // rank 0
    void commit_written(const Ballot& ballot);  // collective
    void step_is_committed(const StepInFlight& step);
    std::optional<Error> settle_in_flight(Call call);  // collective
    std::optional<Error> error_of_queue();
    void keep_late(std::optional<Error> error);
    // The journal, on rank 0.
    void append(const Json& line, bool sync) const;
    void record_run();
    void record_step(const StepInFlight& step, uint64_t digest);
    void record_coordinates();  // rank 0
    void finish_group();        // local
    void drop_step() noexcept;
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
    uint64_t fingerprint();

    std::string directory_, name_;
    StreamConfig config_;
    Json requested_;
    std::shared_ptr<Communicator> ranks_;
    Definitions definitions_;
    StepData data_;
    std::unique_ptr<StepPlan> plan_;
    std::unique_ptr<RaggedLengths> ragged_;
    std::unique_ptr<WriteQueue> queue_;
    std::shared_ptr<const PartContent> content_;
    std::unique_ptr<Packer> packer_;  // none where nothing is compressed
    uint64_t content_plan_ = 0;
    bool content_static_ = false;
    Group::ImageCache image_cache_;
    std::shared_ptr<Group> group_;
    std::deque<StepInFlight> in_flight_;  // with overlap: the accepted steps that are not known to be committed, on all ranks alike
    size_t asked_ = 0;                    // how many of them rank 0 has been asked to commit
    uint64_t bytes_before_ = 0, step_bytes_ = 0, dropped_steps_ = 0;
    bool queue_error_told_ = false;
    std::optional<Error> late_;
    History history_;                               // rank 0: of the stream; other ranks: empty
    uint64_t plan_number_ = 0, plan_recorded_ = 0;  // rank 0
    uint64_t accepted_ = 0;                         // the number of the next step
    StorageChoice storage_;                         // in force; its striping as read back on rank 0
    PartGrowth earlier_;                            // of the part that is the dataset, from earlier runs
    bool earlier_static_ = false;
    size_t indexed_steps_ = 0;         // steps that the index shows as they are, as far as this run knows
    std::set<size_t> removed_groups_;  // numbers in history_
    bool started_ = false, settled_ = false, in_step_ = false, dropped_ = false, static_written_ = false, index_due_ = false;
    double time_ = 0;
    double index_cost_s_ = 0, index_at_s_ = seconds_now();  // of the index written last
    std::optional<Error> refusal_;
    std::optional<uint64_t> fingerprint_;
    std::vector<std::string> unsynced_;
    StageTimes times_;
};

}  // namespace tailrace
