// Sends one rank's data to one writer: into the writer's ring if both are on a node, else as messages. advance() does what can be
// done at once and never waits.
#pragma once

#include <vector>

#include "gather/node_memory.hpp"
#include "gather/sequence.hpp"
#include "layout/block_view.hpp"

namespace tailrace {

constexpr int kPieceTag = 3;

class PieceSender {
public:
    PieceSender(const Communicator& ranks, const NodeMemory& node, uint64_t writer, Sequence sequence,
                std::vector<RankBlock> blocks, uint64_t piece_bytes);

    void begin_step(const std::vector<std::vector<BlockView>>* memory);
    bool advance();  // true: something was done
    bool finished() const { return next_ == pieces_.size() && request_ == MPI_REQUEST_NULL; }
    bool awaits_message() const { return !same_node_ && !finished(); }
    uint64_t writer() const { return writer_; }

private:
    bool fill_ring();
    bool send_message();
    void copy_piece(uint64_t piece, std::byte* to, bool dense) const;

    const Communicator& ranks_;
    const NodeMemory& node_;
    uint64_t writer_;
    bool same_node_;
    Ring ring_;
    Sequence sequence_;
    std::vector<RankBlock> blocks_;
    uint64_t piece_bytes_;
    std::vector<PieceBytes> pieces_;
    const std::vector<std::vector<BlockView>>* memory_ = nullptr;
    size_t next_ = 0;
    uint64_t pieces_before_ = 0;  // of earlier steps: the numbers of pieces continue over steps, so that no ring is ever reset
    std::vector<std::byte> message_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace tailrace
