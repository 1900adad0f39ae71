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

Communicator::Communicator(const Communicator& of, uint64_t part) : user_rank_(of.user_rank_) {
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
    nodes_ = size_ = static_cast<uint64_t>(size);
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
    const auto error = attempt([&] {
        if (node_size_ > 1) board_ = std::make_unique<NodeBoard>(node_);
    });
    if (node_size_ == size_) {
        if (error) throw *error;
        nodes_ = 1;
        return;  // nothing to renumber, and all ranks see it: each collective call takes a turn of every rank
    }

    // Nodes in the order of their lowest rank: each leader learns how many ranks stand before its node.
    uint64_t before = 0;
    check_mpi(MPI_Comm_split(all_, node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &leaders_), "MPI_Comm_split");
    if (leaders_ != MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(leaders_, MPI_ERRORS_RETURN);
        int count = 1;
        MPI_Comm_size(leaders_, &count);
        nodes_ = static_cast<uint64_t>(count);
        check_mpi(MPI_Exscan(&node_size_, &before, 1, MPI_UINT64_T, MPI_SUM, leaders_), "MPI_Exscan");
        int leader = 0;
        MPI_Comm_rank(leaders_, &leader);
        if (leader == 0) before = 0;  // undefined there by the standard
    }
    uint64_t place[2] = {before, nodes_};
    check_mpi(MPI_Bcast(place, 2, MPI_UINT64_T, 0, node_), "MPI_Bcast");
    nodes_ = place[1];
    rank_ = place[0] + node_rank_;
    constexpr int kFailed = 2;
    int mine = error ? kFailed : rank_ != static_cast<uint64_t>(rank), any = 0;
    check_mpi(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, all_), "MPI_Allreduce");
    if (any == kFailed) {  // nothing is arranged: all ranks tell each other, and none goes on
        board_.reset();
        if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
        rank_ = static_cast<uint64_t>(rank);
        agree(*this, {.call = Call::open}, error);
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

void Communicator::broadcast(void* data, uint64_t bytes, uint64_t root) const {
    if (board_ && node_size_ == size_ && bytes <= NodeBoard::kRoomBytes) return board_->broadcast(data, bytes, root);
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
