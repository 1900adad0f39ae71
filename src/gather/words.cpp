#include "gather/words.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <numeric>

#include "gather/agree.hpp"

namespace tailrace {

std::vector<uint64_t> all_words(MPI_Comm comm, const std::vector<uint64_t>& mine, bool on_all) {
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int words = static_cast<int>(mine.size());
    std::vector<int> counts(on_all || rank == 0 ? static_cast<size_t>(size) : 0), begins(counts.size());
    check_mpi(on_all ? MPI_Allgather(&words, 1, MPI_INT, counts.data(), 1, MPI_INT, comm)
                     : MPI_Gather(&words, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm),
              "MPI_Gather");
    uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    std::vector<uint64_t> all;
    if (total <= INT_MAX && on_all) all.resize(total);
    if (total <= INT_MAX && !on_all && attempt([&] { all.resize(total); })) total = UINT64_MAX;
    if (!on_all) check_mpi(MPI_Bcast(&total, 1, MPI_UINT64_T, 0, comm), "MPI_Bcast");
    if (total > INT_MAX)
        fail(Status::NO_MEMORY, "the blocks of ", size, " ranks are too many for one message: their places take more than ",
             INT_MAX >> 17, " MiB, or more than there is memory for; put fewer blocks on each rank");
    if (!counts.empty()) std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
    check_mpi(on_all
                  ? MPI_Allgatherv(mine.data(), words, MPI_UINT64_T, all.data(), counts.data(), begins.data(), MPI_UINT64_T, comm)
                  : MPI_Gatherv(mine.data(), words, MPI_UINT64_T, all.data(), counts.data(), begins.data(), MPI_UINT64_T, 0, comm),
              "MPI_Gatherv");
    return all;
}

void post_words(const Communicator& ranks, const std::vector<uint64_t>& mine) {
    const NodeBoard* board = ranks.board_of_all();
    if (board == nullptr || mine.size() > NodeBoard::kWords) return;
    uint64_t* room = board->words_of(ranks.rank());
    std::fill_n(std::copy(mine.begin(), mine.end(), room), NodeBoard::kWords - mine.size(), 0);
}

std::vector<uint64_t> collect_words(const Communicator& ranks, const std::vector<uint64_t>& mine, uint64_t most) {
    const NodeBoard* board = ranks.board_of_all();
    if (board == nullptr || most > NodeBoard::kWords) return all_words(ranks.all(), mine, false);
    std::vector<uint64_t> all;
    for (uint64_t rank = 0; ranks.rank() == 0 && rank < ranks.size(); ++rank)
        all.insert(all.end(), board->words_of(rank), board->words_of(rank) + most);
    return all;
}

std::vector<uint64_t> broadcast_words(const Communicator& ranks, std::vector<uint64_t> words, uint64_t size, uint64_t root) {
    words.resize(size);
    constexpr uint64_t words_per_message = 1u << 24;
    for (uint64_t at = 0; at < size; at += words_per_message)
        ranks.broadcast(words.data() + at, std::min(words_per_message, size - at) * sizeof(uint64_t), root);
    return words;
}

void put_list(std::vector<uint64_t>& words, const std::vector<uint64_t>& list) {
    words.push_back(list.size());
    words.insert(words.end(), list.begin(), list.end());
}

std::vector<uint64_t> take_list(const std::vector<uint64_t>& words, size_t& at) {
    const auto begin = words.begin() + static_cast<long>(at) + 1, end = begin + static_cast<long>(words[at]);
    at += 1 + words[at];
    return {begin, end};
}

void put_text(std::vector<uint64_t>& words, const std::string& text) {
    const size_t begin = words.size() + 1;
    words.push_back(text.size());
    words.resize(begin + (text.size() + 7) / 8);
    std::memcpy(words.data() + begin, text.data(), text.size());
}

std::string take_text(const std::vector<uint64_t>& words, size_t& at) {
    std::string text(words[at], '\0');
    std::memcpy(text.data(), words.data() + at + 1, text.size());
    at += 1 + (text.size() + 7) / 8;
    return text;
}

}  // namespace tailrace
