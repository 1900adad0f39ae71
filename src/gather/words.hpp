// Lists of 64-bit words between ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "gather/communicator.hpp"

namespace tailrace {

// Collective over `comm`. The words of all ranks, one after the other: on every rank, or on rank 0 only.
std::vector<uint64_t> all_words(MPI_Comm comm, const std::vector<uint64_t>& mine, bool on_all);
// Collective. The words of one rank, on all.
std::vector<uint64_t> broadcast_words(const Communicator& ranks, std::vector<uint64_t> words, uint64_t root);

}  // namespace tailrace
