#include "gather/piece_sender.hpp"

namespace tailrace {

PieceSender::PieceSender(const Communicator& ranks, const NodeMemory& node, uint64_t writer, Sequence sequence,
                         std::vector<RankBlock> blocks, uint64_t piece_bytes)
    : ranks_(ranks), node_(node), writer_(writer), same_node_(ranks.on_my_node(writer)), sequence_(std::move(sequence)),
      blocks_(std::move(blocks)), piece_bytes_(piece_bytes), pieces_(pieces_of(sequence_, blocks_, piece_bytes)) {
    if (same_node_) ring_ = node.ring(writer - ranks.node_first());
    next_ = pieces_.size();
}

void PieceSender::begin_step(const std::vector<std::vector<BlockView>>* memory) {
    if (memory_ != nullptr) pieces_before_ += sequence_.pieces(piece_bytes_);
    memory_ = memory;
    next_ = 0;
}

bool PieceSender::advance() {
    if (finished()) return false;
    return same_node_ ? fill_ring() : send_message();
}

// Copies this rank's bytes of a piece to `to`. With `dense`, for a message, the spans follow one another; otherwise each is copied
// to its position in the piece.
void PieceSender::copy_piece(uint64_t piece, std::byte* to, bool dense) const {
    const uint64_t from = piece * piece_bytes_;
    for_bytes(sequence_, blocks_, from, from + piece_bytes_,
              [&](const RankBlock& block, uint64_t element, uint64_t n, uint64_t position) {
                  const BlockView& memory = (*memory_)[block.array][block.block];
                  memory.copy_out(element, n, dense ? to : to + (position - from));
                  if (dense) to += n * memory.element_bytes();
              });
}

bool PieceSender::fill_ring() {
    bool any = false;
    for (; next_ < pieces_.size(); ++next_, any = true) {
        const uint64_t piece = pieces_before_ + pieces_[next_].piece;
        if (ring_.header->open_until.load() <= piece) break;
        copy_piece(pieces_[next_].piece, ring_.slot(piece), false);
        ring_.filled(piece).fetch_add(pieces_[next_].bytes);
        node_.ring_bell(writer_ - ranks_.node_first());
    }
    return any;
}

bool PieceSender::send_message() {
    if (request_ != MPI_REQUEST_NULL) {
        int sent = 0;
        check_mpi(MPI_Test(&request_, &sent, MPI_STATUS_IGNORE), "MPI_Test");
        if (sent && next_ == pieces_.size()) message_ = {};
        return sent != 0;
    }
    message_.resize(pieces_[next_].bytes);
    copy_piece(pieces_[next_].piece, message_.data(), true);
    check_mpi(MPI_Isend(message_.data(), static_cast<int>(message_.size()), MPI_BYTE, static_cast<int>(writer_), kPieceTag,
                        ranks_.all(), &request_),
              "MPI_Isend");
    ++next_;
    return true;
}

}  // namespace tailrace
