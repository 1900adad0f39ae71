// The ranks of a stream: a duplicate of the user's communicator, renumbered so that the ranks of a node are consecutive.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gather/backoff.hpp"
#include "gather/node_group.hpp"

namespace tailrace {

// Throws MPI_FAILED with MPI's own text unless `code` is MPI_SUCCESS. `call`: the name of the MPI function.
void check_mpi(int code, const char* call);
// The rank in a communicator, and its number of ranks. Local; throw MPI_FAILED.
uint64_t rank_in(MPI_Comm comm);
uint64_t size_of(MPI_Comm comm);

// Begins a non-blocking call by `begin(request)` and waits until it is complete.
template <class Begin>
void finish_mpi(Begin&& begin, const char* call) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(begin(&request), call);
    check_mpi(wait_with_backoff(request), call);
}
// finish_mpi() for a long message, which sleeping would delay.
template <class Begin>
void finish_long_mpi(Begin&& begin, const char* call) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(begin(&request), call);
    check_mpi(wait_without_sleep(request), call);
}

class CommunicatorPool;

// Shared memory of a node that no exchange uses now. `number` identifies it: it is equal on all ranks of the node.
struct KeptMemory {
    std::unique_ptr<SharedMemory> memory;
    uint64_t number = 0;
};

class Communicator {
public:
    // Collective. Until arrange() every rank counts as a node of its own.
    explicit Communicator(MPI_Comm user);
    // Collective over `of`, which must outlive this object. Has the ranks of `of` that pass the same `part`, in the order of `of`.
    // user_rank() is that of `of`.
    Communicator(const Communicator& of, uint64_t part);
    // Collective. Finds the nodes and renumbers the ranks. If `ranks_per_node` is not 0, so many consecutive ranks count as a node.
    void arrange(uint64_t ranks_per_node);
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    MPI_Comm all() const { return all_; }
    uint64_t rank() const { return rank_; }
    uint64_t size() const { return size_; }
    uint64_t user_rank() const { return user_rank_; }  // in the user's communicator, for messages

    MPI_Comm node() const { return nodes_.node; }
    MPI_Comm leaders() const { return nodes_.leaders; }
    uint64_t nodes() const { return nodes_.topology.nodes; }
    const Topology& topology() const { return nodes_.topology; }
    uint64_t node_rank() const { return nodes_.rank; }
    uint64_t node_size() const { return nodes_.size; }
    // The ranks of this node are [node_first(), node_first() + node_size()).
    uint64_t node_first() const { return rank_ - nodes_.rank; }
    bool on_my_node(uint64_t rank) const { return rank >= node_first() && rank < node_first() + nodes_.size; }
    // The number of ranks that may want a core of this node, with the ranks of other parts.
    uint64_t ranks_beside() const { return of_ ? of_->ranks_beside() : nodes_.size; }
    // The board of this node; null if this rank is alone on it.
    const NodeBoard* board() const { return nodes_.board.get(); }
    // The board of this node if all ranks are on it; else null.
    const NodeBoard* board_of_all() const { return nodes_.size == size_ ? nodes_.board.get() : nullptr; }

    // Records that other ranks have closed the stream: collective calls would wait for ever from now on.
    void mark_peers_closed() const { peers_closed_ = true; }
    bool peers_closed() const { return peers_closed_; }

    // Sets the pool that the communicator returns to after use, and its number there, which is equal on all ranks. Without a pool
    // it is freed.
    void set_pool(const std::shared_ptr<CommunicatorPool>& pool, uint64_t number) { pool_ = {pool, number}; }
    std::shared_ptr<CommunicatorPool> pool() const { return pool_.pool.lock(); }
    uint64_t number_in_pool() const { return pool_.number; }

    // Keeps memory for the next exchange over this communicator: new memory takes a dozen collective calls, and its pages are
    // cleared.
    void keep_memory(KeptMemory memory) const noexcept { kept_.memory = std::move(memory); }
    KeptMemory take_memory() const noexcept { return std::exchange(kept_.memory, {}); }
    // Frees the kept memory, and that of the kept part. Returns whether there was any.
    bool free_kept_memory() const noexcept;
    uint64_t next_memory_number() const { return ++memories_; }  // all ranks make their memories in the same order

    // Keeps the communicator of this rank's part for the next stream with equal parts; `parts` identifies them. take_part() is
    // collective; it returns null if any rank keeps none for these parts.
    void keep_part(std::unique_ptr<Communicator> part, uint64_t parts) const noexcept {
        kept_.part = std::move(part), kept_.parts = parts;
    }
    std::unique_ptr<Communicator> take_part(uint64_t parts) const;

    // The number of the next exchange over this communicator; it is equal on all ranks.
    uint64_t next_round() const { return rounds_++; }

    // Collective.
    void broadcast(void* data, uint64_t bytes, uint64_t root) const;  // at most 2 GB
    std::string broadcast_text(const std::string& text, uint64_t root) const;
    uint64_t broadcast(uint64_t value, uint64_t root) const;

private:
    struct PlaceInPool {
        std::weak_ptr<CommunicatorPool> pool;
        uint64_t number = 0;
    };
    // What a closed stream keeps for the next stream (docs/decisions/0013).
    struct Kept {
        KeptMemory memory;
        std::unique_ptr<Communicator> part;
        uint64_t parts = 0;
    };
    void use(MPI_Comm all);  // as all_, each rank a node of its own

    MPI_Comm all_ = MPI_COMM_NULL;
    uint64_t rank_ = 0, size_ = 1, user_rank_ = 0;
    NodeGroup nodes_;
    const Communicator* of_ = nullptr;  // the communicator that this one is a part of; null: none
    PlaceInPool pool_;
    mutable Kept kept_;
    mutable bool peers_closed_ = false;
    mutable uint64_t rounds_ = 0, memories_ = 0;
};

}  // namespace tailrace
