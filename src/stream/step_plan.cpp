#include "stream/step_plan.hpp"

#include <algorithm>
#include <map>

#include "gather/agree.hpp"
#include "gather/box_words.hpp"
#include "gather/communicator_pool.hpp"
#include "gather/cover.hpp"
#include "gather/words.hpp"
#include "layout/join.hpp"
#include "layout/placement.hpp"

namespace tailrace {
namespace {

void put_variable_box(std::vector<uint64_t>& words, uint64_t variable, const Box& box) {
    words.insert(words.end(), {variable, box.count.size()});
    put_box(words, box);
}

std::map<uint64_t, std::vector<Box>> take_variable_boxes(const std::vector<uint64_t>& words) {
    std::map<uint64_t, std::vector<Box>> boxes;
    for (size_t at = 0; at < words.size();) {
        const uint64_t variable = words[at], dims = words[at + 1];
        at += 2;
        boxes[variable].push_back(take_box(words, at, dims));
    }
    return boxes;
}

}  // namespace

StepPlan::StepPlan(const Communicator& ranks, const StreamConfig& config, uint64_t seal_records)
    : ranks_(ranks), config_(config), map_(config.layout, ranks.topology()), part_(map_.part_of(ranks.rank())),
      seal_records_(seal_records) {
    if (has_one_part(config.layout) || config.layout.files.kind == Files::Kind::per_rank) return;
    if (map_.parts() == 1) {
        members_ = &ranks_;
        return;
    }
    own_members_ = ranks.take_part(parts_number());
    if (!own_members_) {
        own_members_ = std::make_unique<Communicator>(ranks, part_);
        agree(ranks_, {.call = Call::open}, attempt_or_end_job(ranks, [&] { own_members_->arrange(config.ranks_per_node); }));
    }
    members_ = own_members_.get();
}

StepPlan::~StepPlan() {
    exchange_.reset();  // their memory goes to the ranks of the part, and with them
    packed_exchange_.reset();
    if (own_members_) ranks_.keep_part(std::move(own_members_), parts_number());
}

std::vector<size_t> StepPlan::written_now(const Definitions& definitions, bool with_static) const {
    std::vector<size_t> now;
    for (size_t v = 0; v < definitions.variables().size(); ++v) {
        const Variable& variable = definitions.variables()[v];
        if (!variable.replicated && (with_static || !variable.is_static)) now.push_back(v);
    }
    return now;
}

StepPlan::Change StepPlan::change(const Definitions& definitions, const StepData& data, bool with_static) const {
    if (!made_) return Change::blocks;
    for (const size_t v : written_now(definitions, with_static))
        if (v >= variables_.size() || !variables_[v].planned || variables_[v].boxes != data.boxes[v]) return Change::blocks;
    // An exchange that was made with the static variables carries them in every run.
    const auto is_static = [&](size_t s) { return definitions.variables()[slabs_[s].variable].is_static; };
    return !with_static && std::any_of(exchanged_.begin(), exchanged_.end(), is_static) ? Change::statics_are_stored : Change::none;
}

void StepPlan::make(const Definitions& definitions, const StepData& data, bool with_static, const Ballot& ready,
                    const std::optional<Error>& error, const FirstDoes& first_does) {
    made_ = false;
    std::vector<size_t> now;  // none where the data may not be what it should
    if (!error) now = written_now(definitions, with_static);
    std::vector<CoverArray> arrays;
    for (const size_t v : now) {
        const Variable& variable = definitions.variables()[v];
        arrays.push_back({variable.name, variable.shape, data.boxes[v], !variable.fill.empty()});
    }
    variables_.resize(definitions.variables().size());
    for (const size_t v : now) variables_[v] = {true, data.boxes[v], false};
    std::vector<uint64_t> words;
    const auto lay = [&] {
        lay_slabs(definitions, now);
        choose_ways(definitions);
        words = part_box_words();
        post_words(ranks_, words);
    };
    uint64_t most_words;
    if (config_.layout.files.kind == Files::Kind::per_rank) {
        // What a rank plans concerns nobody else, and nothing is exchanged: there is one thing to agree on.
        std::optional<Error> failed = error;
        if (!failed) failed = attempt(lay);
        Ballot ballot = ready;
        ballot.told = words.size();
        most_words = check_cover(ranks_, arrays, ballot, failed, first_does).all.told;
        sort_slabs();
    } else {
        const Cover cover = check_cover(ranks_, arrays, ready, error);
        for (size_t i = 0; i < now.size(); ++i) variables_[now[i]].has_gaps = cover.has_gaps[i];
        // All members of one part may fail, and no others: the ranks learn of it when they agree on the exchange.
        auto failed = attempt_or_end_job(ranks_, lay);
        most_words = prepare_exchange(definitions, std::move(failed), words.size(), first_does);
    }
    collect_part_boxes(words, most_words);
    ++version_;
    made_ = true;
}

// Static variables that are stored already keep their places in the part.
void StepPlan::lay_slabs(const Definitions& definitions, const std::vector<size_t>& now) {
    slabs_.clear();
    if (members_) {
        lay_slabs_of_members();
    } else if (has_one_part(config_.layout)) {
        for (size_t v = 0; v < variables_.size(); ++v) {
            if (definitions.variables()[v].replicated) continue;
            slabs_.push_back({v, 0, whole_box(definitions.variables()[v].shape), {}});
            for (size_t b = 0; b < variables_[v].boxes.size(); ++b)
                if (variables_[v].boxes[b].elements() > 0) slabs_.back().mine.push_back(b);
        }
    } else {
        for (size_t v = 0; v < variables_.size(); ++v)
            for (size_t b = 0; b < variables_[v].boxes.size(); ++b)
                if (variables_[v].boxes[b].elements() > 0) slabs_.push_back({v, b, variables_[v].boxes[b], {b}});
    }
    for (Slab& slab : slabs_) {
        slab.written = std::find(now.begin(), now.end(), slab.variable) != now.end();
        slab.has_gaps = has_one_part(config_.layout) && variables_[slab.variable].has_gaps;
    }
}

// Blocks of members that make up boxes become a slab each. One of them joins the blocks of all: their number, times the number of
// members, would be too much to hold on each of them.
void StepPlan::lay_slabs_of_members() {
    std::vector<uint64_t> mine;
    for (size_t v = 0; v < variables_.size(); ++v)
        for (const Box& box : variables_[v].boxes)
            if (box.elements() > 0) put_variable_box(mine, v, box);
    const std::vector<uint64_t> all = all_words(members_->all(), mine, false);
    std::vector<uint64_t> joined;
    const auto error = attempt([&] {
        for (auto& [v, of_members] : take_variable_boxes(all))
            for (const Box& box : join_blocks(std::move(of_members))) put_variable_box(joined, v, box);
    });
    constexpr uint64_t kFailed = UINT64_MAX;
    const uint64_t size = members_->broadcast(error ? kFailed : joined.size(), 0);
    if (error) throw *error;
    if (size == kFailed) fail(Status::NO_MEMORY, "the first rank of the part could not join its blocks");
    for (auto& [v, boxes] : take_variable_boxes(broadcast_words(*members_, std::move(joined), size, 0))) {
        const std::vector<Box>& own = variables_[v].boxes;
        uint64_t number = 0;
        for (Box& box : boxes) {
            slabs_.push_back({v, number++, std::move(box), {}});
            Slab& slab = slabs_.back();
            for (size_t b = 0; b < own.size(); ++b)
                if (own[b].elements() > 0 && overlap(own[b], slab.box)) slab.mine.push_back(b);
        }
    }
}

// Collective over the ranks of the part where all of them may write: otherwise the runs make no difference.
std::vector<SlabRuns> StepPlan::runs_in_slabs(const Definitions& definitions) const {
    std::vector<SlabRuns> runs(slabs_.size());
    for (size_t i = 0; i < slabs_.size(); ++i) {
        const Slab& slab = slabs_[i];
        const uint64_t element_bytes = type_bytes(definitions.variables()[slab.variable].type);
        for (const size_t b : slab.mine) {
            const Runs of_block(slab.box.count, within(slab.box, variables_[slab.variable].boxes[b]));
            runs[i].shortest_bytes = std::min(runs[i].shortest_bytes, of_block.length() * element_bytes);
            runs[i].most += of_block.count();
        }
    }
    const Communicator* ranks = part_ranks();
    if (ranks == nullptr || !all_write(config_.layout, ranks->size())) return runs;
    // The largest of one is the smallest of its complement: one reduction does for both.
    std::vector<uint64_t> mine, all(2 * runs.size());
    for (const SlabRuns& of_slab : runs) mine.insert(mine.end(), {of_slab.shortest_bytes, ~of_slab.most});
    check_mpi(MPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_UINT64_T, MPI_MIN, ranks->all()),
              "MPI_Allreduce");
    for (size_t i = 0; i < runs.size(); ++i) runs[i] = {all[2 * i], ~all[2 * i + 1]};
    return runs;
}

// A slab is written by its owners or goes through the writers, which also fill its gaps.
void StepPlan::choose_ways(const Definitions& definitions) {
    const std::vector<SlabRuns> runs = runs_in_slabs(definitions);
    const uint64_t members = part_ranks() == nullptr ? 1 : part_ranks()->size();
    uint64_t direct_runs = 0;
    for (size_t i = 0; i < slabs_.size(); ++i) {
        const Variable& variable = definitions.variables()[slabs_[i].variable];
        const uint64_t element_bytes = type_bytes(variable.type);
        const Extents& shape = slabs_[i].box.count;
        if (!variable.is_static && is_compressed(config_.layout.storage, shape, element_bytes)) {
            slabs_[i].grid.emplace(shape, element_bytes, config_.layout.storage.chunk_bytes);
            continue;
        }
        slabs_[i].exchanged = slabs_[i].has_gaps || !is_written_by_owners(config_.layout, members, runs[i]);
        if (!slabs_[i].exchanged) direct_runs += runs[i].most;
    }
    // The same whether static variables are written or stored already.
    const uint64_t records = seal_records_of_writer(definitions.variables().size(), slabs_.size(), direct_runs);
    // One part goes on with other blocks, but the room for its checksums stays: what is exchanged needs one record a slab.
    if (has_one_part(config_.layout) && seal_records_ > 0) {
        if (records > seal_records_)
            for (Slab& slab : slabs_) slab.exchanged = !slab.grid;
    } else {
        seal_records_ = records;
    }
}

void StepPlan::sort_slabs() {
    exchanged_.clear();
    packed_.clear();
    for (size_t i = 0; i < slabs_.size(); ++i) {
        if (slabs_[i].exchanged && slabs_[i].written) exchanged_.push_back(i);
        if (slabs_[i].grid) packed_.push_back(i);
    }
}

// Collective. `words`: that this rank has to tell. Returns the most that any has.
uint64_t StepPlan::prepare_exchange(const Definitions& definitions, std::optional<Error> error, uint64_t words,
                                    const FirstDoes& first_does) {
    sort_slabs();
    exchange_.reset();
    packed_exchange_.reset();
    const auto make = [&] {
        const auto failed = error ? error : attempt_or_end_job(ranks_, [&] { make_exchanges(definitions); });
        return agree(ranks_, {.call = Call::plan, .told = words}, failed, first_does).told;
    };
    try {
        return make();
    } catch (const Error& told) {  // on all ranks
        if (told.status() != Status::NO_MEMORY) throw;
        // What is kept for other streams may be in the way, on any of the ranks. What these exchanges have got is no such.
        if (!own_members_) ranks_.take_memory();
        const bool dropped = free_kept_memory(ranks_);
        exchange_.reset();
        packed_exchange_.reset();
        if (smallest(ranks_, dropped ? 0 : 1) == 1) throw;
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

std::unique_ptr<Exchange> StepPlan::make_exchange(const Definitions& definitions, const std::vector<size_t>& slabs,
                                                  const PartWriters& writers) const {
    std::vector<ExchangeArray> arrays;
    for (const size_t i : slabs) {
        const Slab& slab = slabs_[i];
        const Variable& variable = definitions.variables()[slab.variable];
        std::vector<Box> mine;
        for (const size_t b : slab.mine) mine.push_back(within(slab.box, variables_[slab.variable].boxes[b]));
        arrays.push_back({slab.box.count, type_bytes(variable.type), std::move(mine), slab.has_gaps, variable.fill, slab.grid});
    }
    return std::make_unique<Exchange>(members_ ? *members_ : ranks_, std::move(arrays), writers, config_.exchange_bytes);
}

// The slabs of this part, for rank 0: how many variables, one behind the other, have this one, then its place. Most variables of a
// model have the same.
std::vector<uint64_t> StepPlan::part_box_words() const {
    std::vector<uint64_t> words;
    if (!tells_part_boxes() || map_.writer(part_, 0) != ranks_.rank()) return words;
    size_t counted = 0;
    for (size_t i = 0; i < slabs_.size(); ++i) {
        const Slab& slab = slabs_[i];
        const bool goes_on = i > 0 && slab.variable == slabs_[i - 1].variable + 1 && slab.number == slabs_[i - 1].number &&
                             slab.box == slabs_[i - 1].box;
        if (goes_on) {
            ++words[counted];
            continue;
        }
        counted = words.size();
        words.insert(words.end(), {1, slab.variable, part_, slab.number, slab.box.count.size()});
        put_box(words, slab.box);
    }
    return words;
}

void StepPlan::collect_part_boxes(const std::vector<uint64_t>& mine, uint64_t most) {
    part_boxes_.clear();
    if (!tells_part_boxes()) return;
    part_boxes_.resize(variables_.size());
    const std::vector<uint64_t> all = collect_words(ranks_, mine, most);
    for (size_t at = 0; at < all.size();) {
        if (all[at] == 0) {
            ++at;
            continue;
        }
        const uint64_t variables = all[at], first = all[at + 1], part = all[at + 2], number = all[at + 3], dims = all[at + 4];
        at += 5;
        const Box box = take_box(all, at, dims);
        for (uint64_t v = first; v < first + variables; ++v) part_boxes_[v].push_back({part, number, box});
    }
}

}  // namespace tailrace
