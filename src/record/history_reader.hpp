// Reads a history from the lines of a journal that may be damaged or malicious. Before a line is added to the history, its numbers
// are checked: variables against the definitions, parts against the ranks, steps against each other.
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
    // Applies a line. Returns an error if the line is invalid or contradicts the lines before: then neither add() nor take() may be
    // called again.
    std::optional<Error> add(const Json& line);
    // Throws CORRUPT if a staged step that is left could not be committed.
    History take();

private:
    // What a step that uses a plan must have at least, so that the plan's boxes fit.
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
    SegmentChain chain;  // its last segment ends before the damaged line
    // The damaged line and what follows it.
    struct Cut {
        std::string path;  // of the segment
        uint64_t at = 0;   // byte
        std::string why;
        std::vector<uint64_t> steps;                     // of intact step lines behind it, ascending
        std::set<std::pair<uint64_t, uint64_t>> groups;  // of these: their first steps, and the numbers in their files' names
    };
    std::optional<Cut> cut;  // none: the journal is not damaged
};
// `journal`: the path of segment 0. Throws CORRUPT if the first line of that segment is damaged: no line can be used then.
WholeLines read_whole_lines(const std::string& journal);

}  // namespace tailrace
