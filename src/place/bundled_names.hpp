// The list of the files that bundles of earlier runs have. `tailraced names` writes it for a run with sink = "bundle", the preload
// maps it: RULES.bundled beside the rules file.
#pragma once

#include <cstdint>

namespace tailrace::place {

constexpr char kBundledMagic[8] = {'T', 'R', 'N', 'A', 'M', 'E', 'S', '\n'};
constexpr uint32_t kBundledVersion = 1;

// Sorted hashes follow: checksum() of each path below the base.
struct BundledNames {
    char magic[8];
    uint32_t version;
    uint32_t asks_other_nodes;  // not 0: other nodes are asked for absent files, whether the list has them or not
    uint64_t count;
    uint64_t sum;  // checksum() of the hashes
};
static_assert(sizeof(BundledNames) == 32);

}  // namespace tailrace::place
