// Checks that the parts of a group of steps are there and whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/history.hpp"

namespace tailrace {

struct PartProblem {
    std::string path;
    std::optional<uint64_t> step;  // the only step that is damaged; none: all steps of the group
    enum class Of {
        steps,
        static_arrays,  // static arrays that steps in other groups need, too
        lengths,        // readers do not see all committed steps; the arrays are whole
        metadata,       // another program has changed the part's metadata
    } of = Of::steps;
    std::string text;
};

struct GroupReport {
    uint64_t bytes = 0;  // of the parts that exist
    std::vector<PartProblem> problems;
};

// Checks the parts of one group. `deep`: compares every byte with its checksum.
GroupReport check_group(const std::string& directory, const std::string& stream, const History& history, size_t group, bool deep);

// Whether static arrays of steps in other groups are in this one.
bool others_need(const History& history, size_t group);
// Whether repair drops the steps that have the problem. Where the arrays may belong to many steps, it only reports.
bool is_dropped_by_repair(const History& history, size_t group, const PartProblem& problem);

}  // namespace tailrace
