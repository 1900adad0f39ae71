// A writer's side of the messages that ranks of other nodes send: receives them and puts their data into place in the ring.
#pragma once

#include <vector>

#include "gather/node_memory.hpp"
#include "gather/sequence.hpp"

namespace tailrace {

class MessageReceiver {
public:
    // `sequence` must outlive this object.
    MessageReceiver(const Communicator& ranks, const Ring& ring, const Sequence& sequence, uint64_t piece_bytes)
        : ranks_(ranks), ring_(ring), sequence_(sequence), piece_bytes_(piece_bytes), due_(sequence.pieces(piece_bytes)) {}
    void add(uint64_t rank, std::vector<RankBlock> blocks, std::vector<PieceBytes> pieces);

    void begin_step();
    // Pieces below this number may be received from now on.
    void open_until(uint64_t piece);
    // Receives the messages that have arrived; true if there were any. `pieces_before`: the number of pieces of earlier steps.
    bool receive_all(uint64_t pieces_before);
    bool awaits_message() const { return !active_.empty(); }

private:
    struct Sender {
        uint64_t rank = 0;
        std::vector<RankBlock> blocks;
        std::vector<PieceBytes> pieces;
        size_t next = 0;
        std::vector<std::byte> message;
        MPI_Request request = MPI_REQUEST_NULL;

        bool is_done() const { return next == pieces.size(); }
        bool may_send(uint64_t opened) const { return !is_done() && pieces[next].piece < opened; }
    };
    bool receive(Sender& sender, uint64_t pieces_before);
    void put_into_slot(const Sender& sender, std::byte* slot) const;

    const Communicator& ranks_;
    const Ring ring_;
    const Sequence& sequence_;
    const uint64_t piece_bytes_;
    uint64_t opened_ = 0;
    // There may be thousands of senders, few of which have data in the open pieces. `active_`: the senders that have. `due_`: the
    // other senders, by the piece of their next message.
    std::vector<Sender> senders_;
    std::vector<std::vector<size_t>> due_;
    std::vector<size_t> active_;
};

}  // namespace tailrace
