// Reductions of words over the ranks, in a call that all ranks are known to be in: an earlier agreement says so.
#pragma once

#include <cstdint>
#include <vector>

#include "gather/communicator.hpp"

namespace tailrace {

enum class Reduced { smallest, largest, sum, bits };

// Collective. Combines words of all ranks, place by place; all ranks pass equally many. Sums are modulo 2^64; `bits` are or'ed.
std::vector<uint64_t> over_ranks(const Communicator& ranks, const std::vector<uint64_t>& mine, Reduced how);

}  // namespace tailrace
