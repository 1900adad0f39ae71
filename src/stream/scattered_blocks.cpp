#include "stream/scattered_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "base/checksum.hpp"
#include "base/copy.hpp"
#include "gather/agree.hpp"
#include "gather/over_ranks.hpp"
#include "layout/notation.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostCellBytes = 1u << 30;

// How the ranks have put one variable, as bits that are or'ed over the ranks. Three bits for each dimension: a rank requires it,
// proposes it, or cannot address its blocks by indices along it.
constexpr uint64_t asks(size_t dim) { return uint64_t{1} << dim; }
constexpr uint64_t advises(size_t dim) { return uint64_t{1} << (kMaxDims + dim); }
constexpr uint64_t cannot(size_t dim) { return uint64_t{1} << (2 * kMaxDims + dim); }

uint64_t bits_of(const IndexedPut& put, size_t dims) {
    uint64_t bits = 0;
    for (size_t d = 0; d < dims; ++d) {
        if (put.requested == d) bits |= asks(d);
        if (put.advised == d) bits |= advises(d);
        if (!put.can_count[d]) bits |= cannot(d);
    }
    return bits;
}

// The dimension that all ranks' blocks can be counted along, if a rank wants it.
std::optional<size_t> chosen(uint64_t bits, size_t dims) {
    const bool is_requested = (bits & (asks(kMaxDims) - 1)) != 0;
    for (size_t d = 0; d < dims; ++d)
        if ((bits & cannot(d)) == 0 && (bits & (is_requested ? asks(d) : advises(d))) != 0) return d;
    return std::nullopt;
}

const std::string& name_of_dimension(const Definitions& definitions, const Variable& variable, size_t dim) {
    return definitions.dimension(variable.dims[dim]).name;
}

IndexedPut put_of(size_t v, const Variable& variable, const StepData& data) {
    return indexed_put(variable.shape, type_bytes(variable.type), data.lists[v], data.boxes[v]);
}

// Checks a block that is not a list of indices, if other ranks or other puts have lists.
void check_can_count(const Definitions& definitions, const Variable& variable, const IndexedPut& put, uint64_t bits) {
    const auto requested = static_cast<size_t>(std::countr_zero(bits));
    const auto other = put.requested == requested ? put.requested_too : put.requested;
    if (other)
        fail(Status::BAD_SHAPE, "variable '", variable.name,
             "': lists of indices along several dimensions in one step, among them '",
             name_of_dimension(definitions, variable, requested), "' and '", name_of_dimension(definitions, variable, *other),
             "'; count along one of them, on all ranks");
    if (!put.can_count[requested])
        fail(Status::BAD_SHAPE, "variable '", variable.name, "': a block is not whole in dimensions other than '",
             name_of_dimension(definitions, variable, requested),
             "', along which lists of indices are put in this step; put it whole, or as such a list");
}

void check_sizes(const Definitions& definitions, const Variable& variable, size_t dim, uint64_t ranks, uint64_t indices) {
    uint64_t cell_bytes = type_bytes(variable.type);
    for (size_t d = dim + 1; d < variable.shape.size(); ++d) cell_bytes *= variable.shape[d];
    if (indices > Redistribution::kMostIndices || variable.shape[dim] / ranks >= Redistribution::kMostIndices ||
        cell_bytes > kMostCellBytes)
        fail(Status::UNSUPPORTED, "variable '", variable.name, "': lists of indices along '",
             name_of_dimension(definitions, variable, dim), "' have at most ", Redistribution::kMostIndices,
             " indices on a rank, of at most 1 GiB each; use more ranks, or blocks");
}

}  // namespace

bool ScatteredBlocks::is_as_planned(size_t v, const Variable& variable, const StepData& data) const {
    const std::vector<IndexedBlock>& lists = data.lists[v];
    const Planned none, &planned = v < planned_.size() ? planned_[v] : none;
    if (!planned.dim) {
        if (lists.empty() && (planned.is_refused || data.boxes[v].size() <= kManyBlocks)) return true;
        return lists.empty() && !put_of(v, variable, data).advised;
    }
    if (lists.size() == 1 && data.boxes[v].empty() && lists[0].indices == planned.indices) return lists[0].dim == *planned.dim;
    return put_of(v, variable, data).can_count[*planned.dim] && indices_of(*planned.dim, lists, data.boxes[v]) == *planned.indices;
}

bool ScatteredBlocks::take(const Definitions& definitions, StepData& data, bool with_static) {
    blocks_ = Blocks::in_data;
    const std::vector<size_t> written = written_variables(definitions, with_static);
    must_plan_ = !std::ranges::all_of(written, [&](size_t v) {
        const Variable& variable = definitions.variables()[v];
        return definitions.is_ragged(variable) || is_as_planned(v, variable, data);
    });
    if (must_plan_ || !is_in_use()) return !must_plan_;
    take_blocks(definitions, data, scattered(written));
    if (uses_board_ && !sources_.empty()) show(groups().front());
    return true;
}

std::vector<size_t> ScatteredBlocks::scattered(const std::vector<size_t>& written) const {
    std::vector<size_t> found;
    for (const size_t v : written)
        if (v < planned_.size() && planned_[v].dim) found.push_back(v);
    return found;
}

void ScatteredBlocks::plan(const Definitions& definitions, StepData& data, bool with_static) {
    if (blocks_ == Blocks::in_sources) give_back_blocks(data);
    must_plan_ = false;
    planned_.clear();
    plans_.clear();
    sources_.clear();
    const std::vector<size_t> written = written_variables(definitions, with_static);
    try {
        choose_dimensions(definitions, data, written);
        const std::vector<size_t> moved = scattered(written);
        if (moved.empty()) return;
        make_plans(definitions, data, moved);
        take_blocks(definitions, data, moved);
        make_room();
        if (uses_board_) show(groups().front());
        check_coverage(definitions, moved);  // all ranks take part, so that the other ranks' cells may be taken after it
    } catch (const Error&) {                 // on all ranks
        if (blocks_ == Blocks::in_sources) give_back_blocks(data);
        planned_.clear();
        plans_.clear();
        throw;
    }
}

void ScatteredBlocks::choose_dimensions(const Definitions& definitions, const StepData& data, const std::vector<size_t>& written) {
    planned_.resize(definitions.variables().size());
    std::vector<IndexedPut> puts;
    std::vector<uint64_t> bits;
    for (const size_t v : written) {
        const Variable& variable = definitions.variables()[v];
        const bool is_possible = !definitions.is_ragged(variable);
        puts.push_back(is_possible ? put_of(v, variable, data) : IndexedPut());
        bits.push_back(is_possible ? bits_of(puts.back(), variable.shape.size()) : 0);
    }
    bits = over_ranks(ranks_, bits, Reduced::bits);
    std::optional<Error> error;
    for (size_t i = 0; i < written.size(); ++i) {
        const Variable& variable = definitions.variables()[written[i]];
        Planned& planned = planned_[written[i]];
        planned.dim = chosen(bits[i], variable.shape.size());
        planned.is_refused = !planned.dim && bits[i] != 0;
        attempt(error, [&] {
            if ((bits[i] & (asks(kMaxDims) - 1)) != 0) check_can_count(definitions, variable, puts[i], bits[i]);
            if (!planned.dim) return;
            const auto indices = indices_of(*planned.dim, data.lists[written[i]], data.boxes[written[i]]);
            check_sizes(definitions, variable, *planned.dim, ranks_.size(), indices.size());
        });
    }
    agree(ranks_, PlanVote{}, error);
}

// Variables whose lists are equal on every rank share a plan. A rank sees only its own lists, so the ranks compare the sum over all
// ranks of checksums of the lists.
void ScatteredBlocks::make_plans(const Definitions& definitions, const StepData& data, const std::vector<size_t>& scattered) {
    std::map<uint64_t, IndexList> known;
    std::vector<uint64_t> sums;
    for (const size_t v : scattered) {
        Planned& planned = planned_[v];
        const std::vector<IndexedBlock>& lists = data.lists[v];
        const bool is_one_list = lists.size() == 1 && data.boxes[v].empty();
        planned.indices = is_one_list
                              ? lists[0].indices
                              : std::make_shared<const std::vector<uint64_t>>(indices_of(*planned.dim, lists, data.boxes[v]));
        const uint64_t sum = Checksum::of(planned.indices->data(), planned.indices->size() * sizeof(uint64_t));
        IndexList& first = known[sum];
        if (!first || *first != *planned.indices)
            first = planned.indices;
        else
            planned.indices = first;
        const std::array<uint64_t, 3> words{ranks_.rank(), definitions.variables()[v].shape[*planned.dim], sum};
        sums.push_back(Checksum::of(words.data(), sizeof words));
    }
    sums = over_ranks(ranks_, sums, Reduced::sum);
    std::map<uint64_t, size_t> plan_of;
    std::vector<OwnedIndices> owned;
    for (size_t i = 0; i < scattered.size(); ++i) {
        Planned& planned = planned_[scattered[i]];
        const auto [found, is_new] = plan_of.try_emplace(sums[i], owned.size());
        if (is_new) owned.push_back({definitions.variables()[scattered[i]].shape[*planned.dim], planned.indices});
        planned.plan = found->second;
    }
    plans_ = Redistribution::plan(ranks_, owned);
}

// Throws if elements overlap, or are missing in a variable without a fill value. If any overlap, gaps are not reported, because an
// overlap leaves a gap in the range of another rank.
void ScatteredBlocks::check_coverage(const Definitions& definitions, const std::vector<size_t>& scattered) const {
    bool overlaps = false, has_gaps = false;
    for (const size_t v : scattered) {
        const Redistribution& plan = plans_[planned_[v].plan];
        overlaps = overlaps || plan.duplicate();
        has_gaps = has_gaps || (plan.missing() && definitions.variables()[v].fill.empty());
    }
    const std::vector<uint64_t> found = over_ranks(ranks_, {uint64_t{overlaps}, uint64_t{has_gaps}}, Reduced::largest);
    if (found == std::vector<uint64_t>{0, 0}) return;
    const bool any_overlaps = found[0] == 1;
    std::optional<Error> error;
    for (const size_t v : scattered) {
        const Variable& variable = definitions.variables()[v];
        const Redistribution& plan = plans_[planned_[v].plan];
        const std::string& dimension = name_of_dimension(definitions, variable, *planned_[v].dim);
        if (const auto& twice = plan.duplicate(); twice && !error)
            error = Error(Status::BLOCK_OVERLAP,
                          text("variable '", variable.name, "': index ", position_text(twice->index), " of dimension '", dimension,
                               "' is in the list of rank ", twice->rank,
                               twice->rank == twice->other_rank ? " twice" : text(" and of rank ", twice->other_rank),
                               "; each index belongs to one list, once (", counting_rule(), ")"),
                          Origin::several_ranks);
        if (!any_overlaps && plan.missing() && variable.fill.empty() && !error)
            error =
                Error(Status::BLOCK_GAP,
                      text("variable '", variable.name, "': no rank has index ", position_text(*plan.missing()), " of dimension '",
                           dimension, "'; put it on some rank, or give the variable a _FillValue attribute if gaps are meant (",
                           counting_rule(), ")"),
                      Origin::several_ranks);
    }
    agree(ranks_, PlanVote{}, error);
}

void ScatteredBlocks::take_blocks(const Definitions& definitions, StepData& data, const std::vector<size_t>& scattered) {
    std::erase_if(sources_, [&](const Source& source) { return !std::ranges::binary_search(scattered, source.variable); });
    if (sources_.empty())
        for (const size_t v : scattered) sources_.push_back({v, planned_[v].plan, {}, {}, {}, {}, {}});
    for (Source& source : sources_) {
        const size_t v = source.variable;
        const Variable& variable = definitions.variables()[v];
        source.array = {&source.blocks, *planned_[v].dim, 1, type_bytes(variable.type), nullptr};
        for (size_t d = 0; d < variable.shape.size(); ++d)
            if (d != source.array.dim) (d < source.array.dim ? source.array.rows : source.array.cell_bytes) *= variable.shape[d];
        source.blocks.clear();
        source.lists = std::exchange(data.lists[v], {});
        for (const IndexedBlock& list : source.lists) source.blocks.push_back(list.memory);
        source.boxes = std::exchange(data.boxes[v], {});
        source.blocks.insert(source.blocks.end(), data.memory[v].begin(), data.memory[v].end());
        data.memory[v].clear();
        const Redistribution& plan = plans_[source.plan];
        Box range = whole_box(variable.shape);
        range.offset[*planned_[v].dim] = plan.range_begin();
        range.count[*planned_[v].dim] = plan.range_length();
        if (range.elements() > 0) data.boxes[v].push_back(range);
    }
    blocks_ = Blocks::in_sources;
}

void ScatteredBlocks::give_back_blocks(StepData& data) {
    for (Source& source : sources_) {
        const size_t v = source.variable;
        data.memory[v].assign(source.blocks.begin() + static_cast<std::ptrdiff_t>(source.lists.size()), source.blocks.end());
        data.boxes[v] = std::move(source.boxes);
        data.lists[v] = std::move(source.lists);
    }
    blocks_ = Blocks::in_data;
}

// The arrays of this step in the groups in which they are shown: as many at a time as there is room for.
std::vector<ScatteredBlocks::Group> ScatteredBlocks::groups() {
    std::vector<Group> groups;
    uint64_t begin = 0;
    for (const Source& source : sources_) {
        const uint64_t bytes = plans_[source.plan].shown_bytes(source.array);
        if (groups.empty() || !board_.may_have(begin + bytes)) {
            groups.emplace_back();
            begin = 0;
        }
        groups.back().push_back({source.plan, source.array, begin});
        begin += bytes;
    }
    return groups;
}

// Collective. Uses the board if each array fits there.
void ScatteredBlocks::make_room() {
    uint64_t most = 0;
    for (const Group& group : groups())
        most = std::max(most, group.back().begin + plans_[group.back().plan].shown_bytes(group.back().array));
    uses_board_ = board_.make_room(most);
}

void ScatteredBlocks::show(const Group& group) {
    for (const ShownArray& shown : group) plans_[shown.plan].show(shown.array, board_.half() + shown.begin);
}

void ScatteredBlocks::make_ranges(const Definitions& definitions, StepData& data) {
    for (Source& source : sources_) {
        const Variable& variable = definitions.variables()[source.variable];
        const Redistribution& plan = plans_[source.plan];
        const uint64_t bytes = source.array.rows * plan.range_length() * source.array.cell_bytes;
        if (source.range.size() != bytes) {
            source.range.resize(bytes);
            if (plan.missing()) repeat(variable.fill, source.range);  // no rank ever moves these elements
        }
        source.array.range = source.range.data();
        for (const Box& box : data.boxes[source.variable])
            data.memory[source.variable].emplace_back(source.array.range, type_bytes(variable.type), box.count,
                                                      std::vector<int64_t>());
    }
}

// The first group was shown before the ranks agreed on the step.
void ScatteredBlocks::exchange_on_node() {
    bool is_shown = true;
    for (const Group& group : groups()) {
        if (!std::exchange(is_shown, false)) {
            show(group);
            largest(ranks_, 0);  // all ranks have shown it
        }
        for (const ShownArray& shown : group) plans_[shown.plan].take_shown(shown.array, board_.half() + shown.begin);
        board_.turn();
    }
}

void ScatteredBlocks::exchange(const Definitions& definitions, StepData& data) {
    make_ranges(definitions, data);
    if (uses_board_) {
        exchange_on_node();
    } else {
        std::vector<std::vector<MovedArray>> arrays(plans_.size());
        for (const Source& source : sources_) arrays[source.plan].push_back(source.array);
        for (size_t p = 0; p < plans_.size(); ++p) plans_[p].to_ranges(ranks_, arrays[p], buffer_bytes_, buffers_);
    }
    // Keep no references to the model's memory.
    for (Source& source : sources_) {
        source.blocks.clear();
        source.boxes.clear();
        source.lists.clear();
    }
    blocks_ = Blocks::in_data;
}

}  // namespace tailrace
