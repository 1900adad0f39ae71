// Checks that a box of a plan, or of a part, lies in its variable. Plans and parts may come from damaged files.
#pragma once

#include "record/definitions.hpp"
#include "record/part_box.hpp"

namespace tailrace {

constexpr uint64_t kMostParts = 1u << 24;  // twice the cores of the largest machines

// Throws CORRUPT if there is no such variable, or the box has another number of dimensions or exceeds the variable. Along a ragged
// dimension any length below 2^63 is accepted: another step may be longer.
void check_stored_box(const Definitions& definitions, size_t variable, const PartBox& stored);

}  // namespace tailrace
