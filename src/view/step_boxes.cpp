#include "view/step_boxes.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/paths.hpp"
#include "part/part_reader.hpp"
#include "record/block_name.hpp"
#include "record/box_check.hpp"

namespace tailrace {
namespace {

bool lacks_boxes(const History& history, const GroupEntry& group) {
    return !has_one_part(group.layout) && !history.plans.contains(group.plan);
}

std::vector<std::vector<PartBox>> boxes_in_parts(const std::string& directory, const std::string& stream, const GroupEntry& group,
                                                 const Definitions& definitions) {
    std::vector<std::vector<PartBox>> boxes(definitions.variables().size());
    for (uint64_t part = 0; part < group.parts; ++part) {
        const std::string path = directory + "/" + part_path(group, stream, part);
        if (!path_exists(path)) fail(Status::CORRUPT, path, " is missing; `tailrace verify` names all that is");
        for (PartReader::Block& block : PartReader(path).blocks()) {
            const auto [variable, number] = variable_of_block(definitions, block.array);
            boxes[variable].push_back({part, number, std::move(block.box)});
            check_block(definitions, variable, boxes[variable].back(), path);
        }
    }
    return boxes;
}

}  // namespace

void check_block(const Definitions& definitions, size_t variable, const PartBox& box, const std::string& path) {
    try {
        check_stored_box(definitions, variable, box);
    } catch (const Error& error) {
        fail(error.status(), path, ": ", error.what(), "; the part was changed after it was written");
    }
}

std::vector<StepSpan> spans_of_steps(const History& history, size_t first, size_t last) {
    std::vector<StepSpan> spans;
    for (size_t i = first; i < last; ++i) {
        const StepEntry& step = history.steps[i];
        const GroupEntry& group = history.groups[step.group];
        const uint64_t in_group = step.step - group.start;
        if (!spans.empty() && spans.back().group == &group && spans.back().from + spans.back().steps == in_group)
            ++spans.back().steps;
        else
            spans.push_back({&group, in_group, i - first, 1});
    }
    return spans;
}

Box with_time(const Box& box, uint64_t first, uint64_t steps) {
    Box result = box;
    result.offset.insert(result.offset.begin(), first);
    result.count.insert(result.count.begin(), steps);
    return result;
}

bool have_same_boxes(const History& history, size_t v, size_t w) {
    const auto& variables = history.runs.back().definitions.variables();
    const Variable &a = variables[v], &b = variables[w];
    if (history.coordinates.contains(v) || history.coordinates.contains(w)) return false;
    if (a.dims != b.dims || a.is_static != b.is_static || a.replicated != b.replicated) return false;
    if (history.first_run_with(v) != history.first_run_with(w)) return false;
    return std::ranges::all_of(history.plans, [&](const auto& plan) {
        const auto& boxes = plan.second;
        return v < boxes.size() && w < boxes.size() && boxes[v] == boxes[w];
    });
}

std::optional<History> with_boxes_of_parts(const std::string& directory, const std::string& stream, const History& history) {
    std::optional<History> completed;
    for (const size_t g : history.needed_groups()) {
        if (!lacks_boxes(history, history.groups[g])) continue;
        if (!completed) completed = history;
        const uint64_t number = completed->plans.empty() ? 1 : completed->plans.rbegin()->first + 1;
        completed->plans[number] = boxes_in_parts(directory, stream, history.groups[g], history.runs.back().definitions);
        completed->groups[g].plan = number;
    }
    return completed;
}

}  // namespace tailrace
