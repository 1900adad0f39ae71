#include "gather/over_ranks.hpp"

#include <algorithm>
#include <functional>

#include "gather/agree.hpp"

namespace tailrace {
namespace {

template <class Combine>
void combine_each(const VoteNumbers& from, VoteNumbers& into) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = Combine()(from[i], into[i]);
}

struct Smaller {
    uint64_t operator()(uint64_t a, uint64_t b) const { return std::min(a, b); }
};
struct Larger {
    uint64_t operator()(uint64_t a, uint64_t b) const { return std::max(a, b); }
};

struct Operation {
    MPI_Op for_mpi;
    NodeBoard::Combine for_board;
};

Operation operation(Reduced how) {
    switch (how) {
        case Reduced::smallest: return {MPI_MIN, &combine_each<Smaller>};
        case Reduced::largest: return {MPI_MAX, &combine_each<Larger>};
        case Reduced::sum: return {MPI_SUM, &combine_each<std::plus<>>};
        default: return {MPI_BOR, &combine_each<std::bit_or<>>};
    }
}

}  // namespace

std::vector<uint64_t> over_ranks(const Communicator& ranks, const std::vector<uint64_t>& mine, Reduced how) {
    constexpr size_t kMostRounds = 4;  // one message is faster than more of them
    const Operation with = operation(how);
    std::vector<uint64_t> all(mine.size());
    const NodeBoard* board = ranks.board_of_all();
    if (board == nullptr || mine.size() > kMostRounds * std::tuple_size_v<VoteNumbers>) {
        finish_mpi(
            [&](MPI_Request* request) {
                return MPI_Iallreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_UINT64_T, with.for_mpi,
                                      ranks.all(), request);
            },
            "MPI_Iallreduce");
        return all;
    }
    for (size_t done = 0; done < mine.size();) {
        VoteNumbers numbers{};
        const size_t count = std::min(numbers.size(), mine.size() - done);
        std::copy_n(mine.begin() + static_cast<std::ptrdiff_t>(done), count, numbers.begin());
        numbers = board->reduce(numbers, with.for_board, {}, {});
        std::copy_n(numbers.begin(), count, all.begin() + static_cast<std::ptrdiff_t>(done));
        done += count;
    }
    return all;
}

uint64_t smallest(const Communicator& ranks, uint64_t value) { return over_ranks(ranks, {value}, Reduced::smallest)[0]; }
uint64_t largest(const Communicator& ranks, uint64_t value) { return over_ranks(ranks, {value}, Reduced::largest)[0]; }

}  // namespace tailrace
