// The value of every element: a formula of (variable, step, global index), so that any byte can be checked where it is found.
#pragma once

#include <cstdint>

namespace bench {

// The bits of `count` consecutive elements from global index `first`, as float (4 bytes) or double (8 bytes) in [1, 2).
void fill_values(void *out, int element_bytes, int variable, int step, uint64_t first, uint64_t count);

// Compares bits with the formula: how many elements differ; `first_wrong` gets the global index of the first one.
uint64_t count_mismatches(const void *in, int element_bytes, int variable, int step, uint64_t first, uint64_t count,
                          uint64_t *first_wrong);

}  // namespace bench
