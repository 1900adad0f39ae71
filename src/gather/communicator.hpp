// The ranks of a stream: a duplicate of the user's communicator, renumbered so that the ranks of a node are consecutive.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gather/backoff.hpp"
#include "gather/node_board.hpp"
#include "layout/topology.hpp"

namespace tailrace {

// Throws MPI_FAILED with MPI's own text when a call did not succeed.
void check_mpi(int code, const char* call);

// Begins a non-blocking call by `begin(request)` and waits until it is complete.
template <class Begin>
void finish_mpi(Begin&& begin, const char* call) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(begin(&request), call);
    check_mpi(wait_with_backoff(request), call);
}
// The same for a long message, which sleeping would hold up.
template <class Begin>
void finish_long_mpi(Begin&& begin, const char* call) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(begin(&request), call);
    check_mpi(wait_without_sleep(request), call);
}

class CommunicatorPool;

// Shared memory of a node that nobody uses any more; `number` is the same on all its ranks, and no other of a communicator has it.
struct SpareMemory {
    std::unique_ptr<SharedMemory> memory;
    uint64_t number = 0;
};

class Communicator {
public:
    // Collective. Until arrange() every rank counts as a node of its own.
    explicit Communicator(MPI_Comm user);
    // Collective over `of`, which outlives it. The ranks of it that give the same `part`, in its order, with their user_rank().
    Communicator(const Communicator& of, uint64_t part);
    // Collective. Finds the nodes and renumbers. `ranks_per_node` != 0 groups ranks by that many instead of asking MPI.
    void arrange(uint64_t ranks_per_node);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    MPI_Comm all() const { return all_; }
    MPI_Comm node() const { return node_; }
    // The first ranks of the nodes, on them; MPI_COMM_NULL on the others, on all until arrange(), and where there is one node.
    MPI_Comm leaders() const { return leaders_; }
    // Of this node; null while this rank is a node of its own.
    const NodeBoard* board() const { return board_.get(); }
    // The same where it is of all ranks; else null.
    const NodeBoard* board_of_all() const { return node_size_ == size_ ? board_.get() : nullptr; }
    uint64_t rank() const { return rank_; }
    uint64_t size() const { return size_; }
    uint64_t user_rank() const { return user_rank_; }  // the rank's number in the user's communicator, for messages
    uint64_t nodes() const { return topology_.nodes; }
    const Topology& topology() const { return topology_; }
    uint64_t node_rank() const { return node_rank_; }
    uint64_t node_size() const { return node_size_; }
    // Ranks that may want a core of this node: those of a part are not alone.
    uint64_t ranks_beside() const { return of_ ? of_->ranks_beside() : node_size_; }
    // The renumbered ranks of this node: [first, first + node_size).
    uint64_t node_first() const { return rank_ - node_rank_; }
    bool on_my_node(uint64_t rank) const { return rank >= node_first() && rank < node_first() + node_size_; }

    // Other ranks have closed the stream: no collective call will be answered any more.
    void mark_peers_closed() const { peers_closed_ = true; }
    bool peers_closed() const { return peers_closed_; }

    // Where it goes when it is given back, null: it is freed; and its number there, the same on all ranks.
    void set_home(const std::shared_ptr<CommunicatorPool>& pool, uint64_t number) { home_ = pool, number_ = number; }
    std::shared_ptr<CommunicatorPool> home() const { return home_.lock(); }
    uint64_t number() const { return number_; }

    // For the next exchange over this communicator: to make shared memory takes a dozen collective calls, and its pages.
    void keep_spare(SpareMemory spare) const noexcept { spare_ = std::move(spare); }
    SpareMemory take_spare() const noexcept { return std::exchange(spare_, {}); }
    bool drop_spares() const noexcept;                    // its own, and that of the part that is kept: whether there was any
    uint64_t next_memory() const { return ++memories_; }  // its number: all ranks make them in the same order

    // The ranks of this rank's part, for the next stream that has the same parts; `parts` says which they are. Collective: null
    // where one rank has none.
    void keep_part(std::unique_ptr<Communicator> part, uint64_t parts) const noexcept { part_ = std::move(part), parts_ = parts; }
    std::unique_ptr<Communicator> take_part(uint64_t parts) const;

    // Counts the exchanges over this communicator, so that all its ranks give each the same number.
    uint64_t next_round() const { return rounds_++; }

    // Collective.
    void broadcast(void* data, uint64_t bytes, uint64_t root) const;  // at most 2 GB
    std::string broadcast_text(const std::string& text, uint64_t root) const;
    uint64_t broadcast(uint64_t value, uint64_t root) const;

private:
    void take(MPI_Comm all);  // as all_, each rank a node of its own
    MPI_Comm all_ = MPI_COMM_NULL, node_ = MPI_COMM_NULL, leaders_ = MPI_COMM_NULL;
    std::unique_ptr<NodeBoard> board_;
    const Communicator* of_ = nullptr;  // what it is a part of
    std::weak_ptr<CommunicatorPool> home_;
    uint64_t number_ = 0;
    uint64_t rank_ = 0, size_ = 1, user_rank_ = 0, node_rank_ = 0, node_size_ = 1;
    Topology topology_;
    mutable SpareMemory spare_;
    mutable std::unique_ptr<Communicator> part_;
    mutable uint64_t parts_ = 0;
    mutable bool peers_closed_ = false;
    mutable uint64_t rounds_ = 0, memories_ = 0;
};

}  // namespace tailrace
