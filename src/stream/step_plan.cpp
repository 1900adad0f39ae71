#include "stream/step_plan.hpp"

#include <algorithm>

#include "gather/agree.hpp"
#include "gather/cover.hpp"
#include "layout/placement.hpp"
#include "layout/plan.hpp"

namespace tailrace {
std::vector<size_t> StepPlan::written_now(const Definitions& definitions, bool with_static) const {
    std::vector<size_t> now;
    for (size_t v = 0; v < definitions.variables().size(); ++v) {
        const Variable& variable = definitions.variables()[v];
        if (!variable.replicated && (with_static || !variable.is_static)) now.push_back(v);
    }
    return now;
}

bool StepPlan::changed(const Definitions& definitions, const StepData& data, bool with_static) const {
    for (const size_t v : written_now(definitions, with_static))
        if (v >= variables_.size() || !variables_[v].planned || variables_[v].boxes != data.boxes[v]) return true;
    // An exchange that was made with the static variables carries them in every run.
    const auto is_static = [&](size_t v) { return definitions.variables()[v].is_static; };
    if (!with_static && std::any_of(exchanged_.begin(), exchanged_.end(), is_static)) return true;
    return version_ == 0;
}

void StepPlan::make(const Definitions& definitions, const StepData& data, bool with_static) {
    const std::vector<size_t> now = written_now(definitions, with_static);
    std::vector<CoverArray> arrays;
    for (const size_t v : now) {
        const Variable& variable = definitions.variables()[v];
        arrays.push_back({variable.name, variable.shape, data.boxes[v], !variable.fill.empty()});
    }
    const std::vector<bool> gaps = check_cover(ranks_, arrays);
    variables_.resize(definitions.variables().size());
    for (size_t i = 0; i < now.size(); ++i) variables_[now[i]] = {true, data.boxes[now[i]], false, gaps[i]};
    choose_ways(definitions, now, gaps);
    collect_part_boxes(now);
    ++version_;
}

// With one part, a variable goes directly to the file if all its ranks write and every stretch of it is long; else through the
// writers, which also fill its gaps.
void StepPlan::choose_ways(const Definitions& definitions, const std::vector<size_t>& now, const std::vector<bool>& gaps) {
    exchanged_.clear();
    exchange_.reset();
    uint64_t records = kSpareSealRecords + definitions.variables().size();
    if (has_one_part(config_.layout)) {
        std::vector<uint64_t> shortest;
        for (const size_t v : now) {
            uint64_t bytes = UINT64_MAX;
            for (const Box& box : variables_[v].boxes)
                if (box.elements() > 0)
                    bytes = std::min(
                        bytes, Runs(definitions.variables()[v].shape, box).length() * type_bytes(definitions.variables()[v].type));
            shortest.push_back(bytes);
        }
        std::vector<uint64_t> all(shortest.size());
        check_mpi(MPI_Allreduce(shortest.data(), all.data(), static_cast<int>(all.size()), MPI_UINT64_T, MPI_MIN, ranks_.all()),
                  "MPI_Allreduce");
        const bool all_write = config_.layout.writers.kind == Writers::Kind::all;
        for (size_t i = 0; i < now.size(); ++i) {
            VariablePlan& plan = variables_[now[i]];
            plan.exchanged = gaps[i] || (ranks_.size() > 1 && (!all_write || all[i] < kDirectRunBytes));
            if (plan.exchanged) exchanged_.push_back(now[i]);
        }
    }
    if (!exchanged_.empty()) {
        std::vector<ExchangeArray> arrays;
        for (const size_t v : exchanged_) {
            const Variable& variable = definitions.variables()[v];
            arrays.push_back(
                {variable.shape, type_bytes(variable.type), variables_[v].boxes, variables_[v].has_gaps, variable.fill});
        }
        const PartMap map(config_.layout, {ranks_.size(), ranks_.nodes()});
        std::vector<uint64_t> writers;
        for (uint64_t k = 0; k < map.writers(0); ++k) writers.push_back(map.writer(0, k));
        exchange_ = std::make_unique<Exchange>(ranks_, std::move(arrays), std::move(writers), config_.exchange_bytes);
    }
    for (const size_t v : now)
        for (const Box& box : variables_[v].boxes)
            if (!variables_[v].exchanged)
                records += has_one_part(config_.layout) ? Runs(definitions.variables()[v].shape, box).count() : 1;
    seal_records_ = largest(ranks_, records);
}

void StepPlan::collect_part_boxes(const std::vector<size_t>& now) {
    part_boxes_.clear();
    const PartMap map(config_.layout, {ranks_.size(), ranks_.nodes()});
    if (has_one_part(config_.layout) || map.parts() > kMaxIndexParts) return;
    part_boxes_.resize(variables_.size());
    std::vector<uint64_t> mine;
    for (const size_t v : now)
        for (uint64_t b = 0; b < variables_[v].boxes.size(); ++b) {
            const Box& box = variables_[v].boxes[b];
            mine.insert(mine.end(), {v, map.part_of(ranks_.rank()), b, box.count.size()});
            mine.insert(mine.end(), box.offset.begin(), box.offset.end());
            mine.insert(mine.end(), box.count.begin(), box.count.end());
        }
    const int words = static_cast<int>(mine.size());
    std::vector<int> counts(ranks_.size()), begins(ranks_.size());
    check_mpi(MPI_Gather(&words, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, ranks_.all()), "MPI_Gather");
    int total = 0;
    for (size_t r = 0; r < counts.size(); ++r) begins[r] = total, total += counts[r];
    std::vector<uint64_t> all(ranks_.rank() == 0 ? static_cast<size_t>(total) : 0);
    check_mpi(
        MPI_Gatherv(mine.data(), words, MPI_UINT64_T, all.data(), counts.data(), begins.data(), MPI_UINT64_T, 0, ranks_.all()),
        "MPI_Gatherv");
    for (size_t at = 0; at < all.size();) {
        const uint64_t v = all[at], dims = all[at + 3];
        const auto begin = all.begin() + static_cast<long>(at) + 4, middle = begin + static_cast<long>(dims);
        part_boxes_[v].push_back(
            {all[at + 1], all[at + 2], {Extents(begin, middle), Extents(middle, middle + static_cast<long>(dims))}});
        at += 4 + 2 * dims;
    }
}

}  // namespace tailrace
