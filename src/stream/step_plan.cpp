#include "stream/step_plan.hpp"

#include "gather/communicator_pool.hpp"
#include "gather/cover.hpp"
#include "gather/words.hpp"
#include "layout/placement.hpp"

namespace tailrace {

StepPlan::StepPlan(const Communicator& ranks, const StreamConfig& config, uint64_t seal_records)
    : ranks_(ranks), config_(config), map_(config.layout, ranks.topology()), part_(map_.part_of(ranks.rank())),
      part_ranks_(ranks, config, map_), seal_records_(seal_records) {}

StepPlan::~StepPlan() = default;

StepIntent StepPlan::intent(const Definitions& definitions, const StepData& data, bool with_static) const {
    if (!is_complete_) return StepIntent::write_blocks;
    for (const size_t v : written_variables(definitions, with_static))
        if (v >= variables_.size() || !variables_[v].planned || variables_[v].boxes != data.boxes[v])
            return StepIntent::write_blocks;
    // An exchange that was made with the static variables would carry them in every step.
    const auto is_static = [&](size_t s) { return definitions.variables()[boxes_[s].variable].is_static; };
    return !with_static && std::any_of(exchanged_.begin(), exchanged_.end(), is_static) ? StepIntent::write_dynamic
                                                                                        : StepIntent::write;
}

bool StepPlan::make(const Definitions& definitions, const StepData& data, bool with_static, const std::optional<Error>& error,
                    const PlanAgreement& first_agreement, const std::function<void()>& rank_0_does) {
    is_complete_ = false;
    std::vector<size_t> written;  // empty if the data may be invalid
    if (!error) written = written_variables(definitions, with_static);
    std::vector<CoverArray> arrays;
    for (const size_t v : written) {
        const Variable& variable = definitions.variables()[v];
        arrays.push_back({variable.name, variable.shape, data.boxes[v], !variable.fill.empty()});
    }
    variables_.resize(definitions.variables().size());
    for (const size_t v : written) variables_[v] = {true, data.boxes[v], false};
    std::vector<uint64_t> words;
    const auto lay = [&] {
        lay_boxes(definitions, written);
        choose_ways(definitions);
        if (has_part_boxes() && map_.writer(part_, 0) == ranks_.rank()) words = part_box_words(boxes_, part_);
        post_words(ranks_, words);
    };
    // With a part for each rank nothing is exchanged, and what a rank plans concerns no other: one agreement is enough.
    const bool ranks_are_apart = config_.layout.files.kind == Files::Kind::per_rank;
    std::optional<Error> failed = error;
    if (ranks_are_apart && !failed) failed = attempt(lay);
    CoverCheck check(ranks_, arrays);
    const auto is_covered = [](const PlanVote& vote) {
        return !vote.covers_badly && !vote.has_blocks_elsewhere && vote.intent != StepIntent::redistribute;
    };
    RankZeroDoes<PlanVote> if_covered;
    if (ranks_are_apart && rank_0_does)
        if_covered = [&](const PlanVote& all) {
            if (is_covered(all)) rank_0_does();
        };
    const PlanVote mine{check.covers_badly(), check.has_blocks_elsewhere(), StepIntent::written, words.size()};
    const PlanVote all = first_agreement(mine, failed, if_covered);
    if (all.intent == StepIntent::redistribute) return false;
    check.finish(all.covers_badly, all.has_blocks_elsewhere);
    if (if_covered && !is_covered(all)) agree(ranks_, PlanVote{}, std::nullopt, [&](const PlanVote&) { rank_0_does(); });
    const std::vector<bool> has_gaps = arrays_with_gaps(ranks_, arrays);
    uint64_t most_words = all.part_box_words;
    if (ranks_are_apart) {
        sort_boxes();
    } else {
        for (size_t i = 0; i < written.size(); ++i) variables_[written[i]].has_gaps = has_gaps[i];
        // This may fail on the ranks of one part only. The others learn of the error when the ranks agree on the exchange.
        failed = attempt_or_end_job(ranks_, lay);
        most_words = make_exchanges_or_retry(definitions, failed, words.size(), rank_0_does);
    }
    part_boxes_.clear();
    if (has_part_boxes()) part_boxes_ = collect_part_boxes(ranks_, words, most_words, variables_.size());
    ++version_;
    is_complete_ = true;
    return true;
}

// Static variables that are stored already keep their places in the part.
void StepPlan::lay_boxes(const Definitions& definitions, const std::vector<size_t>& written) {
    const bool one_part = has_one_part(config_.layout);
    boxes_ = part_ranks_.of_several_parts() != nullptr ? joined_boxes(*part_ranks_.of_several_parts(), variables_)
             : one_part                                ? whole_variables(definitions, variables_)
                                                       : boxes_of_blocks(variables_);
    for (BoxPlan& planned : boxes_) {
        planned.written = std::find(written.begin(), written.end(), planned.variable) != written.end();
        planned.has_gaps = one_part && variables_[planned.variable].has_gaps;
    }
}

// Chooses for each box whether its owners write it, or send it to the writers, which also fill its gaps.
void StepPlan::choose_ways(const Definitions& definitions) {
    const uint64_t ranks_of_part = part_ranks() == nullptr ? 1 : part_ranks()->size();
    // If few ranks write, the length of the spans makes no difference, so the ranks need not agree on it.
    const bool all_ranks_write = part_ranks() != nullptr && all_write(config_.layout, ranks_of_part);
    const std::vector<BoxSpans> spans = spans_in_boxes(boxes_, definitions, variables_, part_ranks(), all_ranks_write);
    uint64_t direct_spans = 0;
    for (size_t i = 0; i < boxes_.size(); ++i) {
        BoxPlan& planned = boxes_[i];
        choose_chunks(planned, definitions.variables()[planned.variable], config_.layout.storage);
        if (planned.grid) continue;
        const bool by_owners = !planned.has_gaps && is_written_by_owners(config_.layout, ranks_of_part, spans[i]);
        planned.way = by_owners ? BoxPlan::Way::by_owners : BoxPlan::Way::exchanged;
        if (by_owners) direct_spans += spans[i].most;
    }
    // The number is the same whether static variables are written or stored already.
    const uint64_t records = seal_records_of_writer(definitions.variables().size(), boxes_.size(), direct_spans);
    // If there is one part, it continues with other blocks, but the room for its checksums does not change. An exchanged box needs
    // only one record.
    if (has_one_part(config_.layout) && seal_records_ > 0) {
        if (records > seal_records_)
            for (BoxPlan& planned : boxes_)
                if (planned.way == BoxPlan::Way::by_owners) planned.way = BoxPlan::Way::exchanged;
    } else {
        seal_records_ = records;
    }
}

void StepPlan::sort_boxes() {
    exchanged_.clear();
    packed_.clear();
    for (size_t i = 0; i < boxes_.size(); ++i) {
        if (boxes_[i].way == BoxPlan::Way::exchanged && boxes_[i].written) exchanged_.push_back(i);
        if (boxes_[i].way == BoxPlan::Way::compressed) packed_.push_back(i);
    }
}

// Collective. `words`: how many this rank has for rank 0. Returns the most that any rank has.
uint64_t StepPlan::make_exchanges_or_retry(const Definitions& definitions, const std::optional<Error>& error, uint64_t words,
                                           const std::function<void()>& rank_0_does) {
    sort_boxes();
    exchange_.reset();
    packed_exchange_.reset();
    RankZeroDoes<PlanVote> does;
    if (rank_0_does) does = [&](const PlanVote&) { rank_0_does(); };
    const auto make = [&] {
        const auto failed = error ? error : attempt_or_end_job(ranks_, [&] { make_exchanges(definitions); });
        return agree(ranks_, PlanVote{.part_box_words = words}, failed, does).part_box_words;
    };
    try {
        return make();
    } catch (const Error& failed) {  // on all ranks
        if (failed.status() != Status::NO_MEMORY) throw;
        // Memory kept for other streams may have used up the memory of any rank: free it and try again. Reset the exchanges only
        // afterwards, so that `was_freed` does not count their memory.
        if (!part_ranks_.is_own()) ranks_.take_memory();
        const bool was_freed = free_kept_memory(ranks_);
        exchange_.reset();
        packed_exchange_.reset();
        if (smallest(ranks_, was_freed ? 0 : 1) == 1) throw;
        return make();
    }
}

void StepPlan::make_exchanges(const Definitions& definitions) {
    if (!exchanged_.empty()) exchange_ = make_exchange(definitions, exchanged_, writers());
    if (packed_.empty() || part_ranks() == nullptr) return;
    PartWriters all = writers();
    Layout layout = config_.layout;
    layout.writers = {Writers::Kind::all};
    all.map = PartMap(layout, ranks_.topology());
    packed_exchange_ = make_exchange(definitions, packed_, all);
}

std::unique_ptr<Exchange> StepPlan::make_exchange(const Definitions& definitions, const std::vector<size_t>& boxes,
                                                  const PartWriters& writers) const {
    std::vector<ExchangeArray> arrays;
    for (const size_t i : boxes) {
        const BoxPlan& planned = boxes_[i];
        const Variable& variable = definitions.variables()[planned.variable];
        std::vector<Box> mine;
        for (const size_t b : planned.mine) mine.push_back(within(planned.box, variables_[planned.variable].boxes[b]));
        arrays.push_back(
            {planned.box.count, type_bytes(variable.type), std::move(mine), planned.has_gaps, variable.fill, planned.grid});
    }
    const Communicator* several = part_ranks_.of_several_parts();
    return std::make_unique<Exchange>(several != nullptr ? *several : ranks_, std::move(arrays), writers, config_.exchange_bytes);
}

}  // namespace tailrace
