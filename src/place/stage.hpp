// [stage]: which files are made on scratch, and what they are called there. Paths are absolute and have neither `.` nor `..`.
// Needs no C++ library, allocates nothing, throws nothing.
#pragma once

#include "place/rules.hpp"

namespace tailrace::place {

// Whether a pattern has a path. `?` is one character, `*` any number of them, both without slashes; `**` has slashes, too, and
// `**/` may be nothing. The time is bounded by the length of the pattern times the square of the path's.
bool has_path(const char* pattern, const char* path, uint32_t bytes);

class Stage {
public:
    explicit Stage(const Rules& rules) : rules_(rules), record_(rules.stage()) {}

    bool is_there() const { return record_ != nullptr; }
    const StageRecord& record() const { return *record_; }
    const char* text(Text text) const { return rules_.text(text); }

    // Where the path below the base begins in a path; 0: it is not below it.
    uint32_t below(const char* path, uint32_t bytes) const;
    // The number of the first pattern that has a path below the base; -1: none.
    int32_t pattern_of(const char* below, uint32_t bytes) const;
    const char* pattern(int32_t number) const;

private:
    uint32_t below(Text folder, const char* path, uint32_t bytes) const;

    const Rules rules_;
    const StageRecord* const record_;
};

// The path on scratch of a file that a pattern has, with a zero behind it. Returns its bytes; 0: no pattern has it, or there is no
// room. `to` has kPathRoom bytes. A name with a rule of [place] is not staged: it has no pattern here.
uint64_t scratch_path(const Rules& rules, const char* path, char* to, int32_t& pattern);
// The path at the target of a path on scratch, which may be at the same place. Returns its bytes; 0: it is not on scratch.
uint64_t path_of_staged(const Rules& rules, const char* path, uint64_t bytes, char* to);

}  // namespace tailrace::place
