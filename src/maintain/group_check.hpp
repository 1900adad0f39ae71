// Whether the parts of a group of steps are there and whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/history.hpp"

namespace tailrace {

struct PartProblem {
    std::string path;
    std::optional<uint64_t> step;  // the one step that it harms; none: all of the group
    bool harms_static = false;     // static arrays: all steps that they belong to, also of other groups
    std::string text;
};

struct GroupReport {
    uint64_t bytes = 0;  // of the parts that are there
    std::vector<PartProblem> problems;
};

// `deep`: every byte against its checksum.
GroupReport check_group(const std::string& directory, const std::string& stream, const History& history, size_t group, bool deep);

}  // namespace tailrace
