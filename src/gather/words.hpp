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
// Words for rank 0, with an agreement in which all ranks learn how many the longest list has (`most`). A few are left, before it,
// where rank 0 finds them: nobody has to wait for messages. Then, collective: those of all ranks, on rank 0, each followed by any
// number of zeros. Throws as all_words().
void leave_words(const Communicator& ranks, const std::vector<uint64_t>& mine);
std::vector<uint64_t> words_left(const Communicator& ranks, const std::vector<uint64_t>& mine, uint64_t most);
// Collective. The words of one rank, of which all know how many there are (`size`), on all.
std::vector<uint64_t> broadcast_words(const Communicator& ranks, std::vector<uint64_t> words, uint64_t size, uint64_t root);

// A list within a message: how long it is, then the words; a text likewise. Taken from words[at]; `at` is moved behind it.
void put_list(std::vector<uint64_t>& words, const std::vector<uint64_t>& list);
std::vector<uint64_t> take_list(const std::vector<uint64_t>& words, size_t& at);
void put_text(std::vector<uint64_t>& words, const std::string& text);
std::string take_text(const std::vector<uint64_t>& words, size_t& at);

}  // namespace tailrace
