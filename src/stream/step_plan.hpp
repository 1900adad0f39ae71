// The plan by which the blocks of a step reach the writers. It is made once, and used until a rank's blocks change.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gather/agree.hpp"
#include "gather/communicator.hpp"
#include "gather/exchange.hpp"
#include "layout/keys.hpp"
#include "layout/parts.hpp"
#include "record/definitions.hpp"
#include "stream/box_plan.hpp"
#include "stream/part_boxes.hpp"
#include "stream/part_ranks.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

// The first agreement of planning. In a stream's first step it is also the first agreement of end_step, so the caller gives a
// function that makes it. `rank_0_does` may be empty.
using PlanAgreement =
    std::function<PlanVote(const PlanVote& mine, const std::optional<Error>& error, const RankZeroDoes<PlanVote>& rank_0_does)>;

class StepPlan {
public:
    // Collective. `seal_records`: how many checksum records of a writer have room in a step of the part that this run appends to;
    // 0: the run appends to no part.
    StepPlan(const Communicator& ranks, const StreamConfig& config, uint64_t seal_records);
    ~StepPlan();

    // What this rank must do to write its blocks: StepIntent::write if they are as planned. `with_static`: static distributed
    // variables are written, too.
    StepIntent intent(const Definitions& definitions, const StepData& data, bool with_static) const;

    // Collective. Checks that the blocks of all ranks make up every variable, and plans. Then rank 0 does `rank_0_does`, which may
    // be empty. Throws the same error on all ranks. `error`: this rank's error, which the first agreement reports. Returns false,
    // without a plan, if a rank said in the first agreement that it must redistribute its blocks first.
    bool make(const Definitions& definitions, const StepData& data, bool with_static, const std::optional<Error>& error,
              const PlanAgreement& first_agreement, const std::function<void()>& rank_0_does);

    // The boxes of this rank's part, by variable and number.
    const std::vector<BoxPlan>& boxes() const { return boxes_; }
    // Indices in boxes() of the boxes that are exchanged.
    const std::vector<size_t>& exchanged() const { return exchanged_; }
    // The exchange of these boxes; null if there are none.
    Exchange* exchange() const { return exchange_.get(); }
    // Indices in boxes() of the compressed boxes.
    const std::vector<size_t>& packed() const { return packed_; }
    // The exchange that sends elements to the ranks that compress their chunks; null if the part has only this rank.
    Exchange* packed_exchange() const { return packed_exchange_.get(); }
    // The writers of this rank's part.
    PartWriters writers() const { return {map_, part_, has_one_part(config_.layout) ? 0 : map_.first_rank(part_)}; }
    // Whether this rank has at most one block in each box. Then the file addresses of its own writes ascend.
    bool single_blocks() const {
        return std::all_of(boxes_.begin(), boxes_.end(), [](const BoxPlan& planned) { return planned.mine.size() <= 1; });
    }
    // The ranks of this rank's part; null where it has only this one.
    const Communicator* part_ranks() const { return part_ranks_.of_part(); }
    // An upper bound of the checksum records that a writer of this rank's part has in a step.
    uint64_t seal_records() const { return seal_records_; }
    uint64_t version() const { return version_; }                // counts how often the plan was made
    const PartBoxes& part_boxes() const { return part_boxes_; }  // on rank 0; empty if a group has one part

private:
    void lay_boxes(const Definitions& definitions, const std::vector<size_t>& written);
    void choose_ways(const Definitions& definitions);
    void sort_boxes();
    uint64_t make_exchanges_or_retry(const Definitions& definitions, const std::optional<Error>& error, uint64_t words,
                                     const std::function<void()>& rank_0_does);
    void make_exchanges(const Definitions& definitions);
    std::unique_ptr<Exchange> make_exchange(const Definitions& definitions, const std::vector<size_t>& boxes,
                                            const PartWriters& writers) const;
    bool has_part_boxes() const { return !has_one_part(config_.layout); }

    const Communicator& ranks_;
    const StreamConfig& config_;
    const PartMap map_;
    const uint64_t part_;
    PartRanks part_ranks_;  // declared before the exchanges, because they give their shared memory back to these ranks
    std::vector<VariablePlan> variables_;
    std::vector<BoxPlan> boxes_;
    std::vector<size_t> exchanged_, packed_;
    std::unique_ptr<Exchange> exchange_, packed_exchange_;
    PartBoxes part_boxes_;
    uint64_t seal_records_, version_ = 0;
    bool is_complete_ = false;  // false before make(), and after it has thrown
};

}  // namespace tailrace
