// Translates whole paths by the rules. Paths are absolute and have neither `.` nor `..`.
#pragma once

#include "place/rules.hpp"

namespace tailrace::place {

constexpr uint64_t kPathRoom = 8192;

// Writes the physical path of a logical path, ending in a zero byte. Returns its length in bytes; 0: no rule matches the path, or
// the result is too long. Sets `rule` to the rule's number.
uint64_t physical_path(const Rules& rules, const char* path, char* to, int32_t& rule);
// Writes the logical path of a file in a tree of directories. Returns its length in bytes; 0: the file is in no tree.
uint64_t logical_path(const Rules& rules, const char* path, char* to);
// Whether the directory `name` in `folder` may belong to the tree of a rule for that folder.
bool is_tree_of(const Rules& rules, const char* folder, uint32_t folder_bytes, const char* name, uint32_t name_bytes);
// Whether any rule is for files in this folder.
bool has_rule(const Rules& rules, const char* folder, uint32_t bytes);

}  // namespace tailrace::place
