#include "gather/communicator.hpp"

#include "base/error.hpp"
#include "gather/agree.hpp"

namespace tailrace {

void check_mpi(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, reason, &length);
    fail(Status::MPI_FAILED, call, " failed: ", std::string(reason, static_cast<size_t>(length)));
}

Communicator::Communicator(MPI_Comm user) {
    MPI_Comm all;
    check_mpi(MPI_Comm_dup(user, &all), "MPI_Comm_dup");
    take(all);
    user_rank_ = rank_;
}

Communicator::Communicator(const Communicator& of, uint64_t part) : of_(&of), user_rank_(of.user_rank_) {
    MPI_Comm all;
    check_mpi(MPI_Comm_split(of.all_, static_cast<int>(part), static_cast<int>(of.rank_), &all), "MPI_Comm_split");
    take(all);
}

void Communicator::take(MPI_Comm all) {
    all_ = all;
    MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
    int rank = 0, size = 1;
    check_mpi(MPI_Comm_rank(all_, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(all_, &size), "MPI_Comm_size");
    rank_ = static_cast<uint64_t>(rank);
    size_ = static_cast<uint64_t>(size);
    topology_ = {size_, size_};
}

void Communicator::arrange(uint64_t ranks_per_node) {
    const int rank = static_cast<int>(rank_);
    int node_rank = 0, node_size = 1;
    if (ranks_per_node == 0)
        check_mpi(MPI_Comm_split_type(all_, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_), "MPI_Comm_split_type");
    else
        check_mpi(MPI_Comm_split(all_, static_cast<int>(user_rank_ / ranks_per_node), rank, &node_), "MPI_Comm_split");
    MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN);
    check_mpi(MPI_Comm_rank(node_, &node_rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(node_, &node_size), "MPI_Comm_size");
    node_rank_ = static_cast<uint64_t>(node_rank);
    node_size_ = static_cast<uint64_t>(node_size);

    // All ranks of a node fail alike.
    const auto error = attempt_or_end_job(*this, [&] {
        if (node_size_ > 1) board_ = std::make_unique<NodeBoard>(node_, ranks_beside());
    });
    if (node_size_ == size_) {
        if (error) throw *error;
        topology_ = {size_, 1};
        return;  // nothing to renumber, and all ranks see it: each collective call takes a turn of every rank
    }

    // Nodes in the order of their lowest rank: each leader learns how many ranks every node has, and tells its own.
    std::vector<uint64_t> sizes;
    uint64_t place[2] = {0, 0};  // the node's number, and how many there are
    check_mpi(MPI_Comm_split(all_, node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &leaders_), "MPI_Comm_split");
    if (leaders_ != MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(leaders_, MPI_ERRORS_RETURN);
        int leader = 0, count = 1;
        check_mpi(MPI_Comm_rank(leaders_, &leader), "MPI_Comm_rank");
        check_mpi(MPI_Comm_size(leaders_, &count), "MPI_Comm_size");
        place[0] = static_cast<uint64_t>(leader), place[1] = static_cast<uint64_t>(count);
        sizes.resize(place[1]);
        check_mpi(MPI_Allgather(&node_size_, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, leaders_), "MPI_Allgather");
    }
    check_mpi(MPI_Bcast(place, 2, MPI_UINT64_T, 0, node_), "MPI_Bcast");
    sizes.resize(place[1]);
    check_mpi(MPI_Bcast(sizes.data(), static_cast<int>(sizes.size()), MPI_UINT64_T, 0, node_), "MPI_Bcast");
    topology_ = topology_of(sizes);
    rank_ = topology_.first_rank(place[0]) + node_rank_;
    constexpr int kFailed = 2;
    int mine = error ? kFailed : rank_ != static_cast<uint64_t>(rank), any = 0;
    check_mpi(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, all_), "MPI_Allreduce");
    if (any == kFailed) {  // nothing is arranged: all ranks tell each other, and none goes on
        board_.reset();
        if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
        rank_ = static_cast<uint64_t>(rank);
        topology_ = {size_, size_};
        agree(*this, OpenVote{}, error);
    }
    if (any == 0) return;  // ranks of a node are consecutive already
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
    if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
    if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
    if (all_ != MPI_COMM_NULL) MPI_Comm_free(&all_);
}

bool Communicator::drop_spares() const noexcept {
    bool dropped = take_spare().memory != nullptr;
    if (part_) dropped = part_->take_spare().memory != nullptr || dropped;
    return dropped;
}

std::unique_ptr<Communicator> Communicator::take_part(uint64_t parts) const {
    std::unique_ptr<Communicator> kept = std::move(part_);
    if (smallest(*this, kept && parts_ == parts ? 1 : 0) == 0) return nullptr;
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
    // Most texts are told at once: their length, and as much as has room.
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
