// Reads a history from the lines of a journal that anybody may have written. Each number is compared with what it counts or indexes
// before the line joins the history: variables with the definitions, parts with the ranks, steps with each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "record/history.hpp"

namespace tailrace {

class HistoryReader {
public:
    // Applies a line. Returns why it cannot be, or contradicts the lines before: then nothing more may be added or taken.
    std::optional<Error> add(const Json& line);
    History take() { return std::move(history_); }

private:
    // What the boxes of a plan need of the steps that use it.
    struct Needs {
        uint64_t parts = 0;
        std::vector<uint64_t> ragged;  // elements along each ragged dimension
    };

    const Definitions& definitions() const { return history_.runs.back().definitions; }
    void check_before(const std::string& kind, const Json& line) const;
    void check_after(const std::string& kind, const Json& line);
    void check_run();
    void check_plan(uint64_t number);
    void check_box(size_t variable, const PartBox& box, Needs& needs) const;
    void check_coordinate(uint64_t variable) const;
    void check_blocks() const;
    void check_step();
    void check_new_group() const;
    void check_ragged(const StepEntry& step);

    History history_;
    std::map<uint64_t, Needs> needs_;        // by plan
    std::vector<uint64_t> row_bytes_;        // along each ragged dimension: of the largest variable
    std::vector<uint64_t> ragged_elements_;  // of all steps
};

// The lines of a journal up to the first that is damaged, or contradicts those before it.
struct WholeLines {
    SegmentLines lines;
    SegmentChain chain;  // its last segment ends before what is left out
    // What is left out; absent where nothing is.
    struct Cut {
        std::string path;  // of the segment
        uint64_t at = 0;   // byte
        std::string why;
        std::vector<uint64_t> steps;                     // of intact step lines behind it, ascending
        std::set<std::pair<uint64_t, uint64_t>> groups;  // of these: their first steps, and the numbers in their files' names
    };
    std::optional<Cut> cut;
};
// Given the path of segment 0. Throws CORRUPT where the first line of all is damaged: nothing is whole then.
WholeLines read_whole_lines(const std::string& journal);

}  // namespace tailrace
