// Lists of 64-bit words that ranks send each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gather/communicator.hpp"

namespace tailrace {

// Collective over `comm`. The words of all ranks, one rank after the other: on every rank, or on rank 0 only. Throws NO_MEMORY on
// all ranks if they are too many for a message, and bad_alloc on a rank that has no memory for a result that all ranks get.
std::vector<uint64_t> all_words(MPI_Comm comm, const std::vector<uint64_t>& mine, bool on_all);
// Words of all ranks on rank 0, in two stages around an agreement in which the ranks find the length of the longest list (`most`).
// Before the agreement a rank posts its words: if all ranks share a node and the list is short, rank 0 can read them there, and no
// rank waits for messages. After it, collective: returns them on rank 0, the words of each rank followed by any number of zeros.
// Throws as all_words().
void post_words(const Communicator& ranks, const std::vector<uint64_t>& mine);
std::vector<uint64_t> collect_words(const Communicator& ranks, const std::vector<uint64_t>& mine, uint64_t most);
// Collective. Returns on all ranks the words of rank `root`; all ranks pass their number, `size`.
std::vector<uint64_t> broadcast_words(const Communicator& ranks, std::vector<uint64_t> words, uint64_t size, uint64_t root);

// Lists and texts within a message: put_*() appends the length, then the content. take_*() reads at words[at] and moves `at` behind
// what it has read.
void put_list(std::vector<uint64_t>& words, const std::vector<uint64_t>& list);
std::vector<uint64_t> take_list(const std::vector<uint64_t>& words, size_t& at);
void put_text(std::vector<uint64_t>& words, const std::string& text);
std::string take_text(const std::vector<uint64_t>& words, size_t& at);

}  // namespace tailrace
