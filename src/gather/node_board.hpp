// Reductions and broadcasts among the ranks of a node, through shared memory. Ranks that wait sleep. In a collective MPI call they
// would take cores from the ranks that they wait for: with more ranks than cores an agreement took 1 ms (docs/decisions/0007).
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

    // Collective over `node`, which must outlive this object. `ranks_beside`: the number of ranks that want a core of this machine,
    // with those of `node`.
    NodeBoard(MPI_Comm node, uint64_t ranks_beside);

    // Collective. Combines the numbers of all ranks, in the order of the ranks, and returns them on all ranks. If the first rank
    // passes `between`, that function may change the result first. Each other rank calls its `meanwhile` after it has given its
    // numbers.
    using Combine = void (*)(const Numbers& from, Numbers& into);
    Numbers reduce(const Numbers& mine, Combine combine, const std::function<void(Numbers&)>& between,
                   const std::function<void()>& meanwhile) const;

    // Collective. All ranks pass the same number of bytes, kRoomBytes at most, and get those of `root`.
    static constexpr uint64_t kRoomBytes = 4096;
    void broadcast(void* data, uint64_t bytes, uint64_t root) const;

    // Room for kRoomBytes from the first rank to the others: written within its `between`, read between this reduce() and the next.
    std::byte* room() const;
    // Room for kWords words from each rank to the first one: written before a reduce(), read after it.
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
    double spin_s_;  // seconds that a waiting rank spins before it sleeps
    mutable uint32_t round_ = 0;
};

}  // namespace tailrace
