// Messages between ranks that do not know which ranks will send to them. No rank's work or memory grows with the number of ranks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "gather/communicator.hpp"

namespace tailrace {

// Messages of 64-bit words, by rank.
using Messages = std::map<uint64_t, std::vector<uint64_t>>;

// Collective. Sends `out`, by destination; returns what arrived, by source.
Messages deliver(const Communicator& ranks, const Messages& out);

}  // namespace tailrace
