// The value of every element: a formula of (variable, step, global index), so that any byte can be checked where it is found.
#pragma once

#include <cstdint>

namespace bench {

// noise: all bits of the mantissa are random, so nothing can be compressed. kernel: the OLAM kernel's formula, multiples of 2^-24,
// so that 24 bits of a double vary. smooth: neighbours differ little, and the lowest 7 of 23 bits are random, as in a model's
// field.
enum class Pattern { noise, kernel, smooth };

// Writes `count` consecutive elements from global index `first` to `out`, as float (4 bytes) or double (8 bytes) in [1, 2].
void fill_values(void *out, int element_bytes, int variable, int step, uint64_t first, uint64_t count,
                 Pattern pattern = Pattern::noise);

// Compares elements bit by bit with the formula. Returns how many differ; sets `first_wrong` to the global index of the first one.
uint64_t count_mismatches(const void *in, int element_bytes, int variable, int step, uint64_t first, uint64_t count,
                          uint64_t *first_wrong, Pattern pattern = Pattern::noise);

}  // namespace bench
