// [stage]: which files are made on scratch, and their paths there. Paths are absolute and have neither `.` nor `..`. Needs no C++
// library, allocates nothing, throws nothing.
#pragma once

#include "place/rules.hpp"

namespace tailrace::place {

// Whether a path matches a pattern. `?` is one character, `*` any number of them, both without slashes; `**` may have slashes, and
// `**/` may be empty. The time is bounded by the length of the pattern times the square of the path's length.
bool has_path(const char* pattern, const char* path, uint32_t bytes);

class Stage {
public:
    explicit Stage(const Rules& rules) : rules_(rules), record_(rules.stage()) {}

    bool is_there() const { return record_ != nullptr; }  // whether any file is staged
    const StageRecord& record() const { return *record_; }
    // The record of a node, by the name that uname() returns there; nullptr: the run has no scratch on that node.
    const StageNode* node(const char* name, uint64_t bytes) const;
    // The record of the first node; nullptr: there is none. Rules that only explain paths have one.
    const StageNode* first_node() const { return record_->node_count == 0 ? nullptr : rules_.stage_nodes(); }
    const char* text(Text text) const { return rules_.text(text); }

    // The index in `path` where the part below the base begins; 0: the path is not below the base.
    uint32_t below(const char* path, uint32_t bytes) const;
    // The number, from 0, of the first pattern that matches a path below the base; -1: none.
    int32_t pattern_of(const char* below, uint32_t bytes) const;
    const char* pattern(int32_t number) const;

private:
    uint32_t below(Text folder, const char* path, uint32_t bytes) const;

    const Rules rules_;
    const StageRecord* const record_;
};

// Writes the path on the scratch of `node` of a file that matches a pattern, ending in a zero byte. Returns its length in bytes; 0:
// no pattern matches, or the result is too long. `to` has kPathRoom bytes. A name with a rule of [place] is not staged, so it
// matches no pattern.
uint64_t scratch_path(const Rules& rules, const StageNode& node, const char* path, char* to, int32_t& pattern);
// Writes the path at the target of a path on the scratch of `node`; `to` may be equal to `path`. Returns its length in bytes; 0:
// the path is not on that scratch.
uint64_t path_of_staged(const Rules& rules, const StageNode& node, const char* path, uint64_t bytes, char* to);

}  // namespace tailrace::place
