// Where the ranks of a node bring numbers together: through shared memory, asleep while they wait. A collective call of MPI would
// take a core from those that are waited for; with more ranks than cores an agreement took a millisecond; measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "gather/shared_memory.hpp"
#include "gather/vote.hpp"

namespace tailrace {

class NodeBoard {
public:
    using Numbers = VoteNumbers;

    // Collective over `node`, which must live as long. `ranks_beside` want a core of the same machine, these among them.
    NodeBoard(MPI_Comm node, uint64_t ranks_beside);

    // Collective. Combines what the ranks give, in the order of the ranks; then the first rank of the node alone calls its
    // `between` with the result of the node, if it has one: what it makes of it is returned on all ranks. Another rank does its
    // `meanwhile` once it has given its numbers.
    using Combine = void (*)(const Numbers& from, Numbers& into);
    Numbers reduce(const Numbers& mine, Combine combine, const std::function<void(Numbers&)>& between,
                   const std::function<void()>& meanwhile) const;

    // Collective: all ranks give the same number of bytes, kRoomBytes at most, and have those of one of them afterwards.
    static constexpr uint64_t kRoomBytes = 4096;
    void broadcast(void* data, uint64_t bytes, uint64_t root) const;

    // What the first rank puts here in its `between` the others find here when reduce() has returned, until they next call it.
    std::byte* room() const;
    // What a rank puts here before a reduce() the first rank finds here after it, until the rank puts something else here.
    static constexpr uint64_t kWords = 64;
    uint64_t* words_of(uint64_t rank) const;

private:
    struct Shared;
    void publish(uint32_t round, const Numbers& result) const;
    void wake(const std::atomic<uint32_t>& word) const;
    template <class Done>
    void wait(const std::atomic<uint32_t>& word, Done&& done) const;

    MPI_Comm node_;
    uint32_t rank_ = 0, size_ = 1;
    SharedMemory memory_;
    Shared* shared_;
    double spin_s_;  // before it sleeps
    mutable uint32_t round_ = 0;
};

}  // namespace tailrace
