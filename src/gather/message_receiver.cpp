#include "gather/message_receiver.hpp"

#include <cstring>
#include <utility>

#include "gather/piece_sender.hpp"

namespace tailrace {

void MessageReceiver::add(uint64_t rank, std::vector<RankBlock> blocks, std::vector<PieceBytes> pieces) {
    Sender sender{rank, std::move(blocks), std::move(pieces), 0, {}, MPI_REQUEST_NULL};
    sender.next = sender.pieces.size();
    senders_.push_back(std::move(sender));
}

void MessageReceiver::begin_step() {
    opened_ = 0;
    active_.clear();
    for (std::vector<size_t>& due : due_) due.clear();
    for (size_t s = 0; s < senders_.size(); ++s) {
        senders_[s].next = 0;
        due_[senders_[s].pieces.front().piece].push_back(s);
    }
}

void MessageReceiver::open_until(uint64_t piece) {
    for (; opened_ < piece; ++opened_) {
        active_.insert(active_.end(), due_[opened_].begin(), due_[opened_].end());
        due_[opened_].clear();
    }
}

bool MessageReceiver::receive_all(uint64_t pieces_before) {
    bool any = false;
    for (size_t k = 0; k < active_.size();) {
        Sender& sender = senders_[active_[k]];
        while (receive(sender, pieces_before)) any = true;
        if (sender.may_send(opened_)) {
            ++k;
            continue;
        }
        if (!sender.is_done()) due_[sender.pieces[sender.next].piece].push_back(active_[k]);
        active_[k] = active_.back();
        active_.pop_back();
    }
    return any;
}

bool MessageReceiver::receive(Sender& sender, uint64_t pieces_before) {
    if (!sender.may_send(opened_)) return false;
    const PieceBytes& mine = sender.pieces[sender.next];
    if (sender.request == MPI_REQUEST_NULL) {
        sender.message.resize(mine.bytes);
        check_mpi(MPI_Irecv(sender.message.data(), static_cast<int>(mine.bytes), MPI_BYTE, static_cast<int>(sender.rank), kPieceTag,
                            ranks_.all(), &sender.request),
                  "MPI_Irecv");
        return true;
    }
    int arrived = 0;
    check_mpi(MPI_Test(&sender.request, &arrived, MPI_STATUS_IGNORE), "MPI_Test");
    if (!arrived) return false;
    put_into_slot(sender, ring_.slot(pieces_before + mine.piece));
    ring_.filled(pieces_before + mine.piece).fetch_add(mine.bytes);
    ++sender.next;
    // There may be thousands of senders: only those that may send now keep a message buffer.
    if (!sender.may_send(opened_)) sender.message = {};
    return true;
}

void MessageReceiver::put_into_slot(const Sender& sender, std::byte* slot) const {
    const uint64_t from = sender.pieces[sender.next].piece * piece_bytes_;
    const std::byte* data = sender.message.data();
    for_bytes(sequence_, sender.blocks, from, from + piece_bytes_,
              [&](const RankBlock& block, uint64_t, uint64_t n, uint64_t position) {
                  const uint64_t bytes = n * sequence_.arrays()[block.array].element_bytes;
                  std::memcpy(slot + (position - from), data, bytes);
                  data += bytes;
              });
}

}  // namespace tailrace
