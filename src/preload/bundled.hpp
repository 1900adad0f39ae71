// Files that are in bundles of earlier runs, and not at their own names. When the program names one, the agent of the node takes it
// out of its bundle; from then on it is an ordinary file at its target
// (docs/decisions/0051-a-file-leaves-its-bundle-when-it-is-named.md).
#pragma once

#include <stdint.h>

#include <atomic>

namespace tailrace::preload::bundled {

extern std::atomic<bool> has_list;

// Whether this run delivers its files in bundles.
inline bool is_on() { return has_list.load(std::memory_order_relaxed); }

// Whether any bundle has, or had, a file.
bool has_names();

// Called once. `rules_path`: path of the rules file, beside which the list is.
void begin(const char* rules_path);

// Whether a bundle has, or had, a file or folder of this path below the base. Also true, once in 10^14 names, for another path.
bool has(const char* below, uint64_t bytes);

// Whether other nodes are asked for absent files. True without a list: then the run has an agent only if it has several nodes.
bool asks_other_nodes();

}  // namespace tailrace::preload::bundled
