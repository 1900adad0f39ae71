// The value of every element: a formula of (variable, step, global index), so that any byte can be checked where it is found.
#pragma once

#include <cstdint>

namespace bench {

// noise: all bits of the mantissa differ, nothing can be compressed. kernel: as the OLAM kernel's formula, multiples of 2^-24, so
// that a double has 24 bits that differ. smooth: neighbours differ little, and the lowest 7 of 23 bits are noise, as in a field of
// a model.
enum class Pattern { noise, kernel, smooth };

// The bits of `count` consecutive elements from global index `first`, as float (4 bytes) or double (8 bytes) in [1, 2].
void fill_values(void *out, int element_bytes, int variable, int step, uint64_t first, uint64_t count,
                 Pattern pattern = Pattern::noise);

// Compares bits with the formula: how many elements differ; `first_wrong` gets the global index of the first one.
uint64_t count_mismatches(const void *in, int element_bytes, int variable, int step, uint64_t first, uint64_t count,
                          uint64_t *first_wrong, Pattern pattern = Pattern::noise);

}  // namespace bench
