// Memory in which the ranks of a node show each other cells: each rank writes there before an agreement and reads after it, so that
// no messages travel. The memory has two halves, which take turns. A rank that writes into one half has passed the agreement on
// the other, and each rank entered that one when it had read all that it needs of this half.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gather/communicator.hpp"

namespace tailrace {

class CellBoard {
public:
    // `most_bytes`: of a half. Cells that need more travel as messages. The ranks must outlive this object.
    CellBoard(const Communicator& ranks, uint64_t most_bytes) : ranks_(ranks), most_bytes_(most_bytes) {}
    ~CellBoard() { release(); }
    CellBoard(const CellBoard&) = delete;
    CellBoard& operator=(const CellBoard&) = delete;

    // Local; the same on all ranks that pass the same. Whether the ranks are on one node and a half may have `bytes`.
    bool may_have(uint64_t bytes) const { return ranks_.board_of_all() != nullptr && bytes <= most_bytes_; }
    bool has(uint64_t bytes) const { return memory_.memory != nullptr && bytes <= half_bytes(); }
    // Collective, after an agreement on what was shown before. Makes halves of at least `bytes`; all ranks pass the same. Returns
    // false on all ranks if they may not have that, or there is no memory to share.
    bool make_room(uint64_t bytes);

    // The half that is written before the next agreement, and read after it.
    std::byte* half() const { return memory_.memory->base() + turn_ * half_bytes(); }
    // Called on all ranks when they have read the half.
    void turn() { turn_ = 1 - turn_; }

    // The ranks keep the memory for the next board. Call it before they are given to another stream.
    void release() noexcept;

private:
    uint64_t half_bytes() const { return memory_.memory->bytes() / 2; }

    const Communicator& ranks_;
    uint64_t most_bytes_;
    KeptMemory memory_;
    uint64_t turn_ = 0;
};

// Frees the memory that a communicator keeps for the next board. Returns whether there was any.
bool free_kept_cell_memory(MPI_Comm ranks) noexcept;

}  // namespace tailrace
