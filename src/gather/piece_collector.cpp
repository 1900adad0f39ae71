#include "gather/piece_collector.hpp"

#include <algorithm>
#include <cstring>

namespace tailrace {

PieceCollector::PieceCollector(const Communicator& ranks, const NodeMemory& node, Sequence sequence,
                               const std::vector<ExchangeArray>& arrays, const std::map<uint64_t, std::vector<RankBlock>>& senders,
                               std::vector<RankBlock> own, uint64_t piece_bytes)
    : node_(node), ring_(node.ring(ranks.node_rank())), sequence_(std::move(sequence)), arrays_(arrays), own_(std::move(own)),
      piece_bytes_(piece_bytes), expected_(sequence_.pieces(piece_bytes), 0), receiver_(ranks, ring_, sequence_, piece_bytes) {
    for (const ExchangeArray& array : arrays) has_gaps_ = has_gaps_ || array.has_gaps;
    for (const auto& [rank, blocks] : senders) {
        const std::vector<PieceBytes> pieces = pieces_of(sequence_, blocks, piece_bytes);
        for (const PieceBytes& mine : pieces) expected_[mine.piece] += mine.bytes;
        if (!ranks.on_my_node(rank))
            receiver_.add(rank, blocks, pieces);
        else if (rank != ranks.rank())
            neighbours_.push_back({rank - ranks.node_first(), pieces, 0});
    }
    done_ = opened_ = pieces();
}

void PieceCollector::begin_step(const std::vector<std::vector<BlockView>>* memory) {
    if (memory_ != nullptr) pieces_before_ += pieces();
    memory_ = memory;
    done_ = opened_ = 0;
    error_ = nullptr;
    receiver_.begin_step();
    for (Neighbour& neighbour : neighbours_) neighbour.next = 0;
}

void PieceCollector::fill_gaps(uint64_t piece) {
    std::byte* slot = ring_.slot(pieces_before_ + piece);
    const uint64_t from = piece * piece_bytes_, to = from + piece_bytes_;
    for (size_t a = sequence_.array_at(from); a < arrays_.size() && sequence_.arrays()[a].position < to; ++a) {
        const SlabArray& array = sequence_.arrays()[a];
        if (!arrays_[a].has_gaps) continue;  // ranks fill every byte of the array
        for (uint64_t at = std::max(from, array.position); at < std::min(to, array.end()); at += array.element_bytes)
            std::memcpy(slot + (at - from), arrays_[a].fill.data(), array.element_bytes);
    }
}

void PieceCollector::open_slots(uint64_t until) {
    if (has_gaps_)
        for (uint64_t piece = opened_; piece < until; ++piece) fill_gaps(piece);
    receiver_.open_until(until);
    opened_ = until;
    ring_.header->open_until.store(pieces_before_ + opened_);
    for (Neighbour& neighbour : neighbours_) {
        const size_t before = neighbour.next;
        while (neighbour.next < neighbour.pieces.size() && neighbour.pieces[neighbour.next].piece < opened_) ++neighbour.next;
        if (neighbour.next > before) node_.ring_bell(neighbour.node_rank);
    }
}

// Passes on a piece as spans in ascending order: from this rank's own memory if it has the data, else from the slot.
void PieceCollector::pass_on(uint64_t piece, const std::function<void(const Span&)>& take) const {
    const uint64_t from = piece * piece_bytes_, to = std::min(from + piece_bytes_, sequence_.total_bytes());
    std::byte* slot = ring_.slot(pieces_before_ + piece);
    struct Own {
        uint64_t position;
        const std::byte* data;
        uint64_t bytes;
    };
    std::vector<Own> own;
    for_bytes(sequence_, own_, from, to, [&](const RankBlock& block, uint64_t element, uint64_t n, uint64_t position) {
        const BlockView& view = (*memory_)[block.array][block.block];
        if (view.span_bytes() < kOwnSpanBytes) return view.copy_out(element, n, slot + (position - from));
        view.for_spans(element, n, [&](const std::byte* data, uint64_t bytes) {
            own.push_back({position, data, bytes});
            position += bytes;
        });
    });
    std::sort(own.begin(), own.end(), [](const Own& a, const Own& b) { return a.position < b.position; });
    size_t next = 0;
    for (size_t a = sequence_.array_at(from); a < sequence_.arrays().size() && sequence_.arrays()[a].position < to; ++a) {
        const SlabArray& array = sequence_.arrays()[a];
        const uint64_t end = std::min(to, array.end());
        const auto pass = [&](uint64_t at, const std::byte* data, uint64_t bytes) {
            if (bytes > 0) take({a, array.lo + (at - array.position) / array.element_bytes, data, bytes});
        };
        uint64_t at = std::max(from, array.position);
        while (at < end) {
            if (next < own.size() && own[next].position == at) {
                pass(at, own[next].data, own[next].bytes);
                at += own[next++].bytes;
            } else {
                const uint64_t until = next < own.size() ? std::min(end, own[next].position) : end;
                pass(at, slot + (at - from), until - at);
                at = until;
            }
        }
    }
}

// The number of complete pieces to pass on now, at most half a ring: one large write is cheaper than several, and the ranks fill
// the other half meanwhile.
uint64_t PieceCollector::complete_pieces() const {
    uint64_t complete = 0;
    while (complete < kSlots / 2 && done_ + complete < opened_ &&
           ring_.filled(pieces_before_ + done_ + complete).load() == expected_[done_ + complete])
        ++complete;
    return complete;
}

bool PieceCollector::advance(const std::function<void(const Span&)>& take, const std::function<void()>& flush) {
    bool any = false;
    // Opens several slots at a time, so that the ranks that fill them are woken less often.
    const uint64_t until = std::min(pieces(), done_ + kSlots);
    if (until - opened_ >= kSlots / 2 || (until > opened_ && until == pieces())) open_slots(until), any = true;
    any = receiver_.receive_all(pieces_before_) || any;
    const uint64_t complete = complete_pieces();
    if (complete == 0) return any;
    if (!error_) {
        try {
            for (uint64_t piece = done_; piece < done_ + complete; ++piece) pass_on(piece, take);
            flush();
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    for (const uint64_t end = done_ + complete; done_ < end; ++done_) ring_.filled(pieces_before_ + done_).store(0);
    return true;
}

}  // namespace tailrace
