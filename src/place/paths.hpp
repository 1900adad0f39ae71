// Whole paths through the rules. Paths are absolute and have neither `.` nor `..`.
#pragma once

#include "place/rules.hpp"

namespace tailrace::place {

constexpr uint64_t kPathRoom = 8192;

// The physical path, with a zero behind it. Returns its bytes; 0: no rule has the path, or there is no room. `rule` is its number.
uint64_t physical_path(const Rules& rules, const char* path, char* to, int32_t& rule);
// The logical path of a file in a tree. Returns its bytes; 0: the file is in no tree.
uint64_t logical_path(const Rules& rules, const char* path, char* to);
// Whether a directory of a folder may belong to the tree of a rule for that folder.
bool is_tree_of(const Rules& rules, const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes);
// Whether any rule is for files in this folder.
bool has_rule(const Rules& rules, const char* folder, uint32_t bytes);

}  // namespace tailrace::place
