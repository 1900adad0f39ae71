// Lists of 64-bit words between ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gather/communicator.hpp"

namespace tailrace {

// Collective over `comm`. The words of all ranks, one after the other: on every rank, or on rank 0 only. Throws, on all ranks,
// NO_MEMORY when they are too many for a message; bad_alloc on one that has no memory for what all get.
std::vector<uint64_t> all_words(MPI_Comm comm, const std::vector<uint64_t>& mine, bool on_all);
// Collective. The words of one rank, of which all know how many there are (`size`), on all.
std::vector<uint64_t> broadcast_words(const Communicator& ranks, std::vector<uint64_t> words, uint64_t size, uint64_t root);

// A list within a message: how long it is, then the words; a text likewise. Taken from words[at]; `at` is moved behind it.
void put_list(std::vector<uint64_t>& words, const std::vector<uint64_t>& list);
std::vector<uint64_t> take_list(const std::vector<uint64_t>& words, size_t& at);
void put_text(std::vector<uint64_t>& words, const std::string& text);
std::string take_text(const std::vector<uint64_t>& words, size_t& at);

}  // namespace tailrace
