// A writer's side of the exchange: opens slots, receives what comes from other nodes, and hands out pieces that are complete.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <vector>

#include "gather/exchange.hpp"

namespace tailrace {

constexpr uint64_t kOwnPieceBytes = 4096;  // shorter stretches of the writer's own memory are copied together first

class Collection {
public:
    // `senders`: the blocks of every rank that has some here. `own`: blocks of this rank that are taken from its memory as they
    // are.
    Collection(const Communicator& ranks, const NodeMemory& node, Sequence sequence, const std::vector<ExchangeArray>& arrays,
               const std::map<uint64_t, std::vector<RankBlock>>& senders, std::vector<RankBlock> own, uint64_t piece_bytes);

    void begin_step(const std::vector<std::vector<BlockView>>* memory);
    bool advance(const std::function<void(const Stretch&)>& take, const std::function<void()>& flush);
    bool finished() const { return done_ == pieces_; }
    bool awaits_message() const { return !active_.empty(); }
    std::exception_ptr error() const { return error_; }

private:
    struct Remote {
        uint64_t rank = 0;
        std::vector<RankBlock> blocks;
        std::vector<Share> shares;
        size_t next = 0;
        std::vector<std::byte> message;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    // A rank of this node: woken when slots open that it fills.
    struct Neighbour {
        uint64_t node_rank = 0;
        std::vector<Share> shares;
        size_t next = 0;
    };
    bool receive(Remote& remote);
    bool receive_all();
    void open_slots(uint64_t until);
    void fill_gaps(uint64_t piece);
    uint64_t complete_pieces() const;
    void hand_out(uint64_t piece, const std::function<void(const Stretch&)>& take) const;

    const Communicator& ranks_;
    const NodeMemory& node_;
    Ring ring_;
    Sequence sequence_;
    const std::vector<ExchangeArray>& arrays_;
    std::vector<RankBlock> own_;
    uint64_t piece_bytes_, pieces_;
    bool has_gaps_ = false;
    std::vector<uint64_t> expected_;  // bytes that others put into each piece
    // There may be thousands of them, of which few have to do with the pieces that are open: `due_` are those whose next share is
    // in a piece that is not, by piece, `active_` the others that have one.
    std::vector<Remote> remotes_;
    std::vector<std::vector<size_t>> due_;
    std::vector<size_t> active_;
    std::vector<Neighbour> neighbours_;
    const std::vector<std::vector<BlockView>>* memory_ = nullptr;
    uint64_t done_ = 0, opened_ = 0, pieces_before_ = 0;
    std::exception_ptr error_;
};

}  // namespace tailrace
