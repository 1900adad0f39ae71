// Writes steps into the parts of this rank: plans a step, describes the part, opens its group, and writes what this rank has and
// what other ranks send it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "gather/communicator.hpp"
#include "gather/votes.hpp"
#include "layout/keys.hpp"
#include "part/write_queue.hpp"
#include "stream/agreed_blocks.hpp"
#include "stream/earlier_runs.hpp"
#include "stream/group.hpp"
#include "stream/packer.hpp"
#include "stream/step_in_flight.hpp"
#include "stream/step_input.hpp"
#include "stream/step_plan.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

class StepWriter {
public:
    // Collective. `existing`: the part that this run appends to, if there is one. `outbox`: null where nothing is staged.
    StepWriter(const Communicator& ranks, StreamPaths paths, const StreamConfig& config, WriteQueue& queue, Outbox* outbox,
               ExistingPart existing, const std::vector<StepEntry>& existing_steps);

    // Local, called before the first step: sets whether the run continues the existing part, which may have no step left with
    // mode = resume.
    void set_continues(bool continues) { continues_ = continues && existing_.exists(); }

    // Local, called once in each step. Returns what this rank must do to write the step. Replaces scattered blocks in `input` by
    // contiguous ranges.
    StepIntent intent(StepInput& input);
    // Whether elements of scattered blocks move between ranks in every step. The same on all ranks.
    bool redistributes() const { return blocks_->scattered().is_in_use(); }
    // Whether the next step begins another group.
    bool needs_group() const { return !group_ || group_->is_full(); }
    // Whether the part's description fits the step.
    bool is_described(const StepInput& input) const;
    // Local. Opens the next group before the ranks agree on the step. `makes_files`: also makes the group's directories, if this
    // rank makes any.
    void begin_next_group(const StepInput& input, bool makes_files);
    // Local. Forgets the step that this rank has written, because other ranks must plan it again.
    void begin_group_again(const StepInput& input);

    // Collective. Plans the step if `intent`, the largest of all ranks, asks for it, then describes the part and opens its group as
    // needed. `first_agreement` and `rank_0_does` as in StepPlan::make(); `all_do`, which may be empty: collective, in a run's
    // first step, once the ranks have planned it. The returned error is this rank's alone, for the next agreement; others are
    // thrown on all ranks.
    std::optional<Error> plan_step(StepInput& input, StepIntent intent, const std::optional<Error>& error,
                                   const PlanAgreement& first_agreement, const std::function<void()>& rank_0_does,
                                   const std::function<void()>& all_do);
    // Collective over the part's ranks where data is exchanged, whatever happened before: no rank waits for ever. Keeps the first
    // error in `error`.
    StepInFlight write_step(const StepInput& input, std::optional<Error>& error);

    const StepPlan& plan() const { return *plan_; }
    const std::shared_ptr<Group>& group() const { return group_; }
    // Local. Adds no further step to the group, which is finished once all its steps are committed.
    void finish_group();
    // Local, after a failed step. Rank 0 removes the pending files of `step`, also those of other ranks.
    void remove_failed_step(uint64_t step) noexcept;
    void drop_group_without_steps() noexcept;
    // Local, called if another run has taken over. That run may use the step that failed here, so the group's files are left
    // unchanged.
    void leave_group() noexcept {
        queue_.wait();
        group_.reset();
    }
    // Gives back what the plan shares with other streams over the same ranks.
    void release();

private:
    // What the part's description was made for, to find out whether it still fits a step.
    struct Described {
        uint64_t definitions_fingerprint = 0;  // the same on all ranks
        uint64_t plan_version = 0;
        bool with_static = false;
        bool operator==(const Described&) const = default;
    };
    void make_group(uint64_t start, uint64_t segment, const StepInput& input);
    void describe(const StepInput& input);
    void make_packer(const Definitions& definitions);
    void reopen_existing(uint64_t steps);
    std::optional<Error> open_group(StepInput& input, bool other_parts);
    std::vector<std::vector<BlockView>> memory_of(const std::vector<size_t>& boxes, const StepData& data) const;
    void exchange_blocks(const StepInput& input, std::optional<Error>& error);
    void pack_step(const StepInput& input, std::optional<Error>& error);
    std::shared_ptr<const Group::Written> write(const StepInput& input, std::optional<Error>& error);
    bool has_others() const { return ranks_.size() > 1; }

    const Communicator& ranks_;
    const StreamPaths paths_;
    const StreamConfig& config_;
    WriteQueue& queue_;
    Outbox* const outbox_;
    const ExistingPart existing_;
    const std::vector<StepEntry>& existing_steps_;
    bool continues_ = existing_.exists();  // whether the run continues the part `existing_`
    std::unique_ptr<StepPlan> plan_;
    std::unique_ptr<AgreedBlocks> blocks_;
    std::shared_ptr<DescribedPart> part_;
    std::optional<Described> described_;
    std::unique_ptr<Packer> packer_;  // none where nothing is compressed
    std::shared_ptr<Group> group_;
};

}  // namespace tailrace
