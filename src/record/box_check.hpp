// Whether a box of a plan, or of a part, is one of its variable. Both may come from damaged files.
#pragma once

#include "record/definitions.hpp"
#include "record/part_box.hpp"

namespace tailrace {

constexpr uint64_t kMostParts = 1u << 24;  // twice the cores of the largest machines

// Throws CORRUPT where there is no such variable, or the box has another number of dimensions or leaves it. Along a ragged
// dimension any length below 2^63 passes: another step may be longer.
void check_stored_box(const Definitions& definitions, size_t variable, const PartBox& stored);

}  // namespace tailrace
