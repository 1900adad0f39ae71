// What every rank knows of a stream that is open for reading, and of the selected step. Rank 0 reads the journal and sends both as
// 64-bit words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "layout/layout.hpp"
#include "record/definitions.hpp"
#include "record/history.hpp"
#include "record/part_box.hpp"

namespace tailrace {

struct StreamSummary {
    Layout layout;  // of the last run
    Definitions definitions;
    std::vector<uint64_t> steps;  // committed
    std::vector<double> times;
    std::vector<std::vector<uint64_t>> ragged;               // of each step: the lengths of the ragged dimensions
    std::set<uint64_t> joined;                               // numbers of variables that the first steps do not have
    std::map<uint64_t, std::vector<std::byte>> coordinates;  // by variable: those of which the parts store only slices
};

// Where the arrays of a step are: in which parts, and there as which boxes.
struct StepLocation {
    Layout layout;
    uint64_t start = 0;     // of the group
    uint64_t in_group = 0;  // the step's number in its group
    uint64_t parts = 1;
    uint64_t segment = 0;                     // the number in the names of its files; 0: none
    size_t variables = 0;                     // that its parts have: the first ones of the stream; the others joined it later
    bool in_journal = true;                   // false: only the parts contain the boxes (more than 256 parts, before version 0.2)
    std::vector<std::vector<PartBox>> boxes;  // [variable]

    // Whether both steps are in the same part files.
    bool is_in_group_of(const StepLocation& other) const {
        return layout.steps != 1 && start == other.start && segment == other.segment;
    }
};

// put_...() append words on rank 0, from the history. take_...() read from words[at] and move `at` behind what they have read.
void put_summary(std::vector<uint64_t>& words, const History& history);
StreamSummary take_summary(const std::vector<uint64_t>& words, size_t& at);
// `group`: null if no group has the step or the static arrays.
void put_location(std::vector<uint64_t>& words, const History& history, const GroupEntry* group, uint64_t in_group);
std::optional<StepLocation> take_location(const std::vector<uint64_t>& words, size_t& at, const StreamSummary& stream);

void put_boxes(std::vector<uint64_t>& words, const std::vector<std::vector<PartBox>>& boxes);
void take_boxes(const std::vector<uint64_t>& words, std::vector<std::vector<PartBox>>& boxes);

}  // namespace tailrace
