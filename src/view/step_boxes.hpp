// Finds which parts have the steps of a dataset, and as which boxes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "layout/parts.hpp"
#include "record/history.hpp"

namespace tailrace {

// Steps that follow each other in a group and in the dataset.
struct StepSpan {
    const GroupEntry* group;
    uint64_t from;   // number of the span's first step in the group
    uint64_t to;     // number of that step in the dataset
    uint64_t steps;  // length of the span
};
// The spans of the steps [first, last) of History::steps.
std::vector<StepSpan> spans_of_steps(const History& history, size_t first, size_t last);

// The box with a leading time dimension: `steps` steps from `first` on.
Box with_time(const Box& box, uint64_t first, uint64_t steps);

// Visits the boxes of a distributed variable that have elements. A group of one part has one box: `whole`.
template <class Visit>
void for_each_box(const History& history, const GroupEntry& group, size_t variable, const Box& whole, Visit&& visit) {
    if (has_one_part(group.layout)) {
        if (whole.elements() > 0) visit(PartBox{0, 0, whole});
        return;
    }
    const auto plan = history.plans.find(group.plan);
    if (plan == history.plans.end() || variable >= plan->second.size()) return;  // no rank has put it
    for (const PartBox& box : plan->second[variable])
        if (box.box.elements() > 0) visit(box);
}

// Throws CORRUPT with the part's path if a box that the part has does not lie in the variable.
void check_block(const Definitions& definitions, size_t variable, const PartBox& box, const std::string& path);

// Whether two variables have the same boxes in all plans. Then they can share their list of sources, which is long.
bool have_same_boxes(const History& history, size_t v, size_t w);

// Returns the history with boxes that were read from the parts, because versions before 0.2 wrote no boxes of more than 256 parts
// into the journal. Nothing if the history has all boxes. Throws CORRUPT if a part is missing.
std::optional<History> with_boxes_of_parts(const std::string& directory, const std::string& stream, const History& history);

}  // namespace tailrace
