#include "gather/communicator.hpp"

#include "base/error.hpp"
#include "gather/agree.hpp"
#include "gather/cell_board.hpp"

namespace tailrace {

void check_mpi(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, reason, &length);
    fail(Status::MPI_FAILED, call, " failed: ", std::string(reason, static_cast<size_t>(length)));
}

uint64_t rank_in(MPI_Comm comm) {
    int rank = 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    return static_cast<uint64_t>(rank);
}

uint64_t size_of(MPI_Comm comm) {
    int size = 1;
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    return static_cast<uint64_t>(size);
}

Communicator::Communicator(MPI_Comm user) {
    MPI_Comm all;
    check_mpi(MPI_Comm_dup(user, &all), "MPI_Comm_dup");
    use(all);
    user_rank_ = rank_;
}

Communicator::Communicator(const Communicator& of, uint64_t part) : user_rank_(of.user_rank_), of_(&of) {
    MPI_Comm all;
    check_mpi(MPI_Comm_split(of.all_, static_cast<int>(part), static_cast<int>(of.rank_), &all), "MPI_Comm_split");
    use(all);
}

void Communicator::use(MPI_Comm all) {
    all_ = all;
    MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
    rank_ = rank_in(all_);
    size_ = size_of(all_);
    nodes_.topology = {size_, size_};
}

void Communicator::arrange(uint64_t ranks_per_node) {
    nodes_.split(all_, ranks_per_node == 0 ? std::nullopt : std::optional(user_rank_ / ranks_per_node));
    // Making the board fails on all ranks of a node or on none.
    const auto error = attempt_or_end_job(*this, [&] {
        if (nodes_.size > 1) nodes_.board = std::make_unique<NodeBoard>(nodes_.node, ranks_beside());
    });
    if (nodes_.size == size_) {  // one node has all ranks: saves a collective call, in which every rank must get a core once
        if (error) throw *error;
        nodes_.topology = {size_, 1};
        return;
    }
    const uint64_t rank_before = rank_;
    rank_ = nodes_.find_nodes(all_);
    enum Outcome { kSameNumbers, kRenumbered, kFailed };
    int mine = error ? kFailed : rank_ != rank_before ? kRenumbered : kSameNumbers, all = kSameNumbers;
    check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, all_), "MPI_Allreduce");
    if (all == kFailed) {
        nodes_.forget(size_);
        rank_ = rank_before;
        agree(*this, OpenVote{}, error);
    }
    if (all == kSameNumbers) return;  // the ranks of every node are consecutive already
    MPI_Comm renumbered;
    check_mpi(MPI_Comm_split(all_, 0, static_cast<int>(rank_), &renumbered), "MPI_Comm_split");
    MPI_Comm_set_errhandler(renumbered, MPI_ERRORS_RETURN);
    MPI_Comm_free(&all_);
    all_ = renumbered;
}

Communicator::~Communicator() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    if (all_ != MPI_COMM_NULL) MPI_Comm_free(&all_);
}

bool Communicator::free_kept_memory() const noexcept {
    bool freed = take_memory().memory != nullptr;
    if (all_ != MPI_COMM_NULL) freed = free_kept_cell_memory(all_) || freed;
    if (kept_.part) freed = kept_.part->take_memory().memory != nullptr || freed;
    return freed;
}

std::unique_ptr<Communicator> Communicator::take_part(uint64_t parts) const {
    std::unique_ptr<Communicator> kept = std::move(kept_.part);
    if (smallest(*this, kept && kept_.parts == parts ? 1 : 0) == 0) return nullptr;
    return kept;
}

void Communicator::broadcast(void* data, uint64_t bytes, uint64_t root) const {
    if (const NodeBoard* board = board_of_all(); board != nullptr && bytes <= NodeBoard::kRoomBytes)
        return board->broadcast(data, bytes, root);
    finish_mpi(
        [&](MPI_Request* request) {
            return MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(root), all_, request);
        },
        "MPI_Ibcast");
}

uint64_t Communicator::broadcast(uint64_t value, uint64_t root) const {
    broadcast(&value, sizeof value, root);
    return value;
}

std::string Communicator::broadcast_text(const std::string& text, uint64_t root) const {
    // Most texts fit into the first message, with their length.
    struct Head {
        uint64_t bytes;
        char text[1024 - sizeof bytes];
    } head{text.size(), {}};
    std::string copy = text;
    copy.copy(head.text, sizeof head.text);
    broadcast(&head, sizeof head, root);
    copy.resize(head.bytes);
    if (copy.size() > sizeof head.text)
        broadcast(copy.data(), copy.size(), root);
    else
        copy.assign(head.text, copy.size());
    return copy;
}

}  // namespace tailrace
