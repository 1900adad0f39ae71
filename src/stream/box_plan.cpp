#include "stream/box_plan.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "gather/agree.hpp"
#include "gather/box_words.hpp"
#include "gather/words.hpp"
#include "layout/join.hpp"

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

std::vector<BoxPlan> whole_variables(const Definitions& definitions, const std::vector<VariablePlan>& variables) {
    std::vector<BoxPlan> boxes;
    for (size_t v = 0; v < variables.size(); ++v) {
        if (definitions.variables()[v].replicated) continue;
        boxes.push_back({v, 0, whole_box(definitions.variables()[v].shape), {}});
        for (size_t b = 0; b < variables[v].boxes.size(); ++b)
            if (variables[v].boxes[b].elements() > 0) boxes.back().mine.push_back(b);
    }
    return boxes;
}

void choose_chunks(BoxPlan& planned, const Variable& variable, const Storage& storage) {
    const uint64_t element_bytes = type_bytes(variable.type);
    if (variable.is_static || !is_compressed(storage, planned.box.count, element_bytes)) return;
    planned.way = BoxPlan::Way::compressed;
    planned.grid.emplace(planned.box.count, element_bytes, storage.chunk_bytes);
}

std::vector<BoxPlan> boxes_of_blocks(const std::vector<VariablePlan>& variables) {
    std::vector<BoxPlan> boxes;
    for (size_t v = 0; v < variables.size(); ++v)
        for (size_t b = 0; b < variables[v].boxes.size(); ++b)
            if (variables[v].boxes[b].elements() > 0) boxes.push_back({v, b, variables[v].boxes[b], {b}});
    return boxes;
}

std::vector<BoxPlan> joined_boxes(const Communicator& part_ranks, const std::vector<VariablePlan>& variables) {
    std::vector<uint64_t> mine;
    for (size_t v = 0; v < variables.size(); ++v)
        for (const Box& box : variables[v].boxes)
            if (box.elements() > 0) put_variable_box(mine, v, box);
    const std::vector<uint64_t> all = all_words(part_ranks.all(), mine, false);
    std::vector<uint64_t> joined;
    const auto error = attempt([&] {
        for (auto& [v, of_ranks] : take_variable_boxes(all))
            for (const Box& box : join_blocks(std::move(of_ranks))) put_variable_box(joined, v, box);
    });
    constexpr uint64_t kFailed = UINT64_MAX;
    const uint64_t size = part_ranks.broadcast(error ? kFailed : joined.size(), 0);
    if (error) throw *error;
    if (size == kFailed) fail(Status::NO_MEMORY, "the first rank of the part could not join its blocks");
    std::vector<BoxPlan> plans;
    for (auto& [v, boxes] : take_variable_boxes(broadcast_words(part_ranks, std::move(joined), size, 0))) {
        const std::vector<Box>& own = variables[v].boxes;
        uint64_t number = 0;
        for (Box& box : boxes) {
            plans.push_back({v, number++, std::move(box), {}});
            BoxPlan& planned = plans.back();
            for (size_t b = 0; b < own.size(); ++b)
                if (own[b].elements() > 0 && overlap(own[b], planned.box)) planned.mine.push_back(b);
        }
    }
    return plans;
}

std::vector<BoxSpans> spans_in_boxes(const std::vector<BoxPlan>& boxes, const Definitions& definitions,
                                     const std::vector<VariablePlan>& variables, const Communicator* part_ranks,
                                     bool all_ranks_write) {
    std::vector<BoxSpans> spans(boxes.size());
    for (size_t i = 0; i < boxes.size(); ++i) {
        const BoxPlan& planned = boxes[i];
        const uint64_t element_bytes = type_bytes(definitions.variables()[planned.variable].type);
        for (const size_t b : planned.mine) {
            const Spans of_block(planned.box.count, within(planned.box, variables[planned.variable].boxes[b]));
            spans[i].shortest_bytes = std::min(spans[i].shortest_bytes, of_block.length() * element_bytes);
            spans[i].most += of_block.count();
        }
    }
    if (!all_ranks_write) return spans;
    // The minimum of a number is the complement of the maximum of its complement, so one MPI_MAX reduction gives both.
    std::vector<uint64_t> mine, all(2 * spans.size());
    for (const BoxSpans& of_box : spans) mine.insert(mine.end(), {of_box.shortest_bytes, ~of_box.most});
    check_mpi(MPI_Allreduce(mine.data(), all.data(), static_cast<int>(all.size()), MPI_UINT64_T, MPI_MIN, part_ranks->all()),
              "MPI_Allreduce");
    for (size_t i = 0; i < spans.size(); ++i) spans[i] = {all[2 * i], ~all[2 * i + 1]};
    return spans;
}

}  // namespace tailrace
