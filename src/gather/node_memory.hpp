// Memory that the ranks of a node share: a doorbell for each rank, and a ring of slots for each writer among them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gather/communicator.hpp"
#include "gather/shared_memory.hpp"

namespace tailrace {

constexpr uint32_t kSlots = 4;  // pieces that may be filled or written at a time

// A writer's ring: piece g of its sequence is put together in slot g % kSlots. The numbers of pieces continue over steps.
struct Ring {
    struct Header {
        std::atomic<uint64_t> open_until;      // pieces below this number may be filled
        std::atomic<uint64_t> filled[kSlots];  // bytes that have been put into each slot
    };
    Header* header = nullptr;
    std::byte* slots = nullptr;
    uint64_t piece_bytes = 0;

    std::byte* slot(uint64_t piece) const { return slots + piece % kSlots * piece_bytes; }
    std::atomic<uint64_t>& filled(uint64_t piece) const { return header->filled[piece % kSlots]; }
};

class NodeMemory {
public:
    // Collective over the node. `piece_bytes`: of this rank's ring; 0 if it is no writer.
    NodeMemory(const Communicator& ranks, uint64_t piece_bytes);
    ~NodeMemory();  // the communicator keeps the memory for the next NodeMemory
    NodeMemory(const NodeMemory&) = delete;
    NodeMemory& operator=(const NodeMemory&) = delete;

    Ring ring(uint64_t node_rank) const;

    // Doorbells: a rank rings the bell of another rank to wake it. A rank that waits reads times_rung(), checks its condition, and
    // calls wait(), which sleeps until the bell has rung since the reading. With `for_messages`, or if a core of the node has no
    // writer, it wakes often to poll.
    uint32_t times_rung() const;
    void wait(uint32_t seen, bool for_messages);
    void ring_bell(uint64_t node_rank) const;

private:
    struct Bell;
    Bell& bell(uint64_t node_rank) const;
    const Communicator& ranks_;
    const double longest_spin_s_;
    double spin_s_ = longest_spin_s_;  // before sleeping; 0 after a sleep that ended without the bell
    bool has_core_to_spare_ = true;    // a core of the node has no writer, so polling takes no core from one (docs/decisions/0005)
    KeptMemory memory_;
    std::byte* base_ = nullptr;
    uint64_t* ring_offset_ = nullptr;  // in the shared memory: where each rank's ring begins, and its piece bytes
};

}  // namespace tailrace
