// Messages between ranks that do not know who will write to them: no rank's work or memory grows with the number of ranks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gather/communicator.hpp"

namespace tailrace {

// A message of 64-bit words for each rank.
using Letters = std::map<uint64_t, std::vector<uint64_t>>;

// Collective. Delivers `out` (by destination); returns what arrived (by source).
Letters deliver(const Communicator& ranks, const Letters& out);

}  // namespace tailrace
