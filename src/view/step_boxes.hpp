// Which parts have the steps of a dataset, and as which boxes.
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
    uint64_t from;  // number of its first step in the group
    uint64_t to;    // and in the dataset
    uint64_t steps;
};
// Of the steps [first, last) of History::steps.
std::vector<StepSpan> spans_of_steps(const History& history, size_t first, size_t last);

// Adds the leading time dimension.
Box with_time(const Box& box, uint64_t first, uint64_t steps);

// Visits the boxes of a distributed variable that have elements. A group of one part has one: `whole`.
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

// Throws CORRUPT with the part's path where a box that it has is none of the variable.
void check_block(const Definitions& definitions, size_t variable, const PartBox& box, const std::string& path);

// Whether two variables have the same boxes in all plans. Then they can share their list of sources, which is long.
bool have_same_boxes(const History& history, size_t v, size_t w);

// Versions before 0.2 wrote no boxes of more than 256 parts into the journal. Then this returns the history with them, as they are
// in the parts; nothing where the history has all. Throws CORRUPT where a part is missing.
std::optional<History> with_boxes_of_parts(const std::string& directory, const std::string& stream, const History& history);

}  // namespace tailrace
