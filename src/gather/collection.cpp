#include "gather/collection.hpp"

#include <algorithm>
#include <cstring>

#include "gather/contribution.hpp"

namespace tailrace {

Collection::Collection(const Communicator& ranks, const NodeMemory& node, Sequence sequence,
                       const std::vector<ExchangeArray>& arrays, const std::map<uint64_t, std::vector<RankBlock>>& senders,
                       std::vector<RankBlock> own, uint64_t piece_bytes)
    : ranks_(ranks), node_(node), ring_(node.ring(ranks.node_rank())), sequence_(std::move(sequence)), arrays_(arrays),
      own_(std::move(own)), piece_bytes_(piece_bytes), pieces_(sequence_.pieces(piece_bytes)), expected_(pieces_, 0) {
    for (const ExchangeArray& array : arrays) has_gaps_ = has_gaps_ || array.has_gaps;
    for (const auto& [rank, blocks] : senders) {
        const std::vector<Share> shares = shares_of(sequence_, blocks, piece_bytes);
        for (const Share& share : shares) expected_[share.piece] += share.bytes;
        if (!ranks.on_my_node(rank))
            remotes_.push_back({rank, blocks, shares, shares.size(), {}, MPI_REQUEST_NULL});
        else if (rank != ranks.rank())
            neighbours_.push_back({rank - ranks.node_first(), shares, 0});
    }
    due_.resize(pieces_);
    done_ = opened_ = pieces_;
}

void Collection::begin_step(const std::vector<std::vector<BlockView>>* memory) {
    if (memory_ != nullptr) pieces_before_ += pieces_;
    memory_ = memory;
    done_ = opened_ = 0;
    error_ = nullptr;
    active_.clear();
    for (std::vector<size_t>& due : due_) due.clear();
    for (size_t r = 0; r < remotes_.size(); ++r) {
        remotes_[r].next = 0;
        due_[remotes_[r].shares.front().piece].push_back(r);
    }
    for (Neighbour& neighbour : neighbours_) neighbour.next = 0;
}

void Collection::fill_gaps(uint64_t piece) {
    std::byte* slot = ring_.slot(pieces_before_ + piece);
    const uint64_t from = piece * piece_bytes_, to = from + piece_bytes_;
    for (size_t a = sequence_.array_at(from); a < arrays_.size() && sequence_.arrays()[a].position < to; ++a) {
        const SlabArray& array = sequence_.arrays()[a];
        if (!arrays_[a].has_gaps) continue;  // every byte of it comes from a rank
        for (uint64_t at = std::max(from, array.position); at < std::min(to, array.end()); at += array.element_bytes)
            std::memcpy(slot + (at - from), arrays_[a].fill.data(), array.element_bytes);
    }
}

void Collection::open_slots(uint64_t until) {
    if (has_gaps_)
        for (uint64_t piece = opened_; piece < until; ++piece) fill_gaps(piece);
    for (uint64_t piece = opened_; piece < until; ++piece) {
        active_.insert(active_.end(), due_[piece].begin(), due_[piece].end());
        due_[piece].clear();
    }
    opened_ = until;
    ring_.header->open_until.store(pieces_before_ + opened_);
    for (Neighbour& neighbour : neighbours_) {
        const size_t before = neighbour.next;
        while (neighbour.next < neighbour.shares.size() && neighbour.shares[neighbour.next].piece < opened_) ++neighbour.next;
        if (neighbour.next > before) node_.ring_bell(neighbour.node_rank);
    }
}

bool Collection::receive_all() {
    bool any = false;
    for (size_t k = 0; k < active_.size();) {
        Remote& remote = remotes_[active_[k]];
        while (receive(remote)) any = true;
        const bool has_more = remote.next < remote.shares.size();
        if (has_more && remote.shares[remote.next].piece < opened_) {
            ++k;
            continue;
        }
        if (has_more) due_[remote.shares[remote.next].piece].push_back(active_[k]);
        active_[k] = active_.back();
        active_.pop_back();
    }
    return any;
}

bool Collection::receive(Remote& remote) {
    if (remote.next == remote.shares.size()) return false;
    const Share& share = remote.shares[remote.next];
    if (share.piece >= opened_) return false;
    if (remote.request == MPI_REQUEST_NULL) {
        remote.message.resize(share.bytes);
        check_mpi(MPI_Irecv(remote.message.data(), static_cast<int>(share.bytes), MPI_BYTE, static_cast<int>(remote.rank),
                            kPieceTag, ranks_.all(), &remote.request),
                  "MPI_Irecv");
        return true;
    }
    int arrived = 0;
    check_mpi(MPI_Test(&remote.request, &arrived, MPI_STATUS_IGNORE), "MPI_Test");
    if (!arrived) return false;
    const uint64_t from = share.piece * piece_bytes_;
    std::byte* slot = ring_.slot(pieces_before_ + share.piece);
    const std::byte* data = remote.message.data();
    for_bytes(sequence_, remote.blocks, from, from + piece_bytes_,
              [&](const RankBlock& block, uint64_t, uint64_t n, uint64_t position) {
                  const uint64_t bytes = n * sequence_.arrays()[block.array].element_bytes;
                  std::memcpy(slot + (position - from), data, bytes);
                  data += bytes;
              });
    ring_.filled(pieces_before_ + share.piece).fetch_add(share.bytes);
    ++remote.next;
    // Memory only for what may come now: there may be thousands of ranks.
    if (remote.next == remote.shares.size() || remote.shares[remote.next].piece >= opened_) remote.message = {};
    return true;
}

// The piece as stretches in ascending order: from this rank's own memory where it has them, from the slot for the rest.
void Collection::hand_out(uint64_t piece, const std::function<void(const Stretch&)>& take) const {
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
        if (view.piece_bytes() < kOwnPieceBytes) return view.copy_out(element, n, slot + (position - from));
        view.for_pieces(element, n, [&](const std::byte* data, uint64_t bytes) {
            own.push_back({position, data, bytes});
            position += bytes;
        });
    });
    std::sort(own.begin(), own.end(), [](const Own& a, const Own& b) { return a.position < b.position; });
    size_t next = 0;
    for (size_t a = sequence_.array_at(from); a < sequence_.arrays().size() && sequence_.arrays()[a].position < to; ++a) {
        const SlabArray& array = sequence_.arrays()[a];
        const uint64_t end = std::min(to, array.end());
        const auto hand = [&](uint64_t at, const std::byte* data, uint64_t bytes) {
            if (bytes > 0) take({a, array.lo + (at - array.position) / array.element_bytes, data, bytes});
        };
        uint64_t at = std::max(from, array.position);
        while (at < end) {
            if (next < own.size() && own[next].position == at) {
                hand(at, own[next].data, own[next].bytes);
                at += own[next++].bytes;
            } else {
                const uint64_t until = next < own.size() ? std::min(end, own[next].position) : end;
                hand(at, slot + (at - from), until - at);
                at = until;
            }
        }
    }
}

// As many as can be written at once: large writes are cheaper, and the other half of the ring is filled meanwhile.
uint64_t Collection::complete_pieces() const {
    uint64_t complete = 0;
    while (complete < kSlots / 2 && done_ + complete < opened_ &&
           ring_.filled(pieces_before_ + done_ + complete).load() == expected_[done_ + complete])
        ++complete;
    return complete;
}

bool Collection::advance(const std::function<void(const Stretch&)>& take, const std::function<void()>& flush) {
    bool any = false;
    // Several at a time: those who fill them are woken less often.
    const uint64_t until = std::min(pieces_, done_ + kSlots);
    if (until - opened_ >= kSlots / 2 || (until > opened_ && until == pieces_)) open_slots(until), any = true;
    any = receive_all() || any;
    const uint64_t complete = complete_pieces();
    if (complete == 0) return any;
    if (!error_) {
        try {
            for (uint64_t piece = done_; piece < done_ + complete; ++piece) hand_out(piece, take);
            flush();
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    for (const uint64_t end = done_ + complete; done_ < end; ++done_) ring_.filled(pieces_before_ + done_).store(0);
    return true;
}

}  // namespace tailrace
