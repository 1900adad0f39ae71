// A writer's side of the exchange: opens slots of its ring, receives messages, and passes on complete pieces in ascending order.
#pragma once

#include <exception>
#include <functional>
#include <map>
#include <vector>

#include "gather/exchange.hpp"
#include "gather/message_receiver.hpp"

namespace tailrace {

constexpr uint64_t kOwnSpanBytes = 4096;  // shorter spans of the writer's own memory are first copied into the slot

class PieceCollector {
public:
    // `senders`: for each rank with data for this writer, its blocks. `own`: blocks of this rank that are written from its own
    // memory.
    PieceCollector(const Communicator& ranks, const NodeMemory& node, Sequence sequence, const std::vector<ExchangeArray>& arrays,
                   const std::map<uint64_t, std::vector<RankBlock>>& senders, std::vector<RankBlock> own, uint64_t piece_bytes);
    PieceCollector(const PieceCollector&) = delete;
    PieceCollector& operator=(const PieceCollector&) = delete;

    void begin_step(const std::vector<std::vector<BlockView>>* memory);
    // Does what can be done without waiting; true if something was done.
    bool advance(const std::function<void(const Span&)>& take, const std::function<void()>& flush);
    bool finished() const { return done_ == pieces(); }
    bool awaits_message() const { return receiver_.awaits_message(); }
    std::exception_ptr error() const { return error_; }

private:
    // A rank of this node. It is woken when slots open for which it has data.
    struct Neighbour {
        uint64_t node_rank = 0;
        std::vector<PieceBytes> pieces;
        size_t next = 0;
    };
    uint64_t pieces() const { return expected_.size(); }
    void open_slots(uint64_t until);
    void fill_gaps(uint64_t piece);
    uint64_t complete_pieces() const;
    void pass_on(uint64_t piece, const std::function<void(const Span&)>& take) const;

    const NodeMemory& node_;
    Ring ring_;
    Sequence sequence_;
    const std::vector<ExchangeArray>& arrays_;
    std::vector<RankBlock> own_;
    uint64_t piece_bytes_;
    bool has_gaps_ = false;
    std::vector<uint64_t> expected_;  // for each piece: bytes that are put into its slot
    MessageReceiver receiver_;
    std::vector<Neighbour> neighbours_;
    const std::vector<std::vector<BlockView>>* memory_ = nullptr;
    uint64_t done_ = 0, opened_ = 0;  // pieces that are passed on; pieces whose slots are open
    uint64_t pieces_before_ = 0;      // of earlier steps
    std::exception_ptr error_;
};

}  // namespace tailrace
