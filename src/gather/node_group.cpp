#include "gather/node_group.hpp"

#include <vector>

#include "gather/communicator.hpp"

namespace tailrace {

NodeGroup::~NodeGroup() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
    if (node != MPI_COMM_NULL) MPI_Comm_free(&node);
}

void NodeGroup::split(MPI_Comm all, std::optional<uint64_t> number) {
    const int order = static_cast<int>(rank_in(all));
    if (number)
        check_mpi(MPI_Comm_split(all, static_cast<int>(*number), order, &node), "MPI_Comm_split");
    else
        check_mpi(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, order, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    rank = rank_in(node);
    size = size_of(node);
}

uint64_t NodeGroup::find_nodes(MPI_Comm all) {
    std::vector<uint64_t> sizes;            // ranks of each node
    uint64_t number_and_count[2] = {0, 0};  // of this node; of nodes
    const int order = static_cast<int>(rank_in(all));
    check_mpi(MPI_Comm_split(all, rank == 0 ? 0 : MPI_UNDEFINED, order, &leaders), "MPI_Comm_split");
    if (leaders != MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(leaders, MPI_ERRORS_RETURN);
        number_and_count[0] = rank_in(leaders), number_and_count[1] = size_of(leaders);
        sizes.resize(number_and_count[1]);
        check_mpi(MPI_Allgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, leaders), "MPI_Allgather");
    }
    check_mpi(MPI_Bcast(number_and_count, 2, MPI_UINT64_T, 0, node), "MPI_Bcast");
    sizes.resize(number_and_count[1]);
    check_mpi(MPI_Bcast(sizes.data(), static_cast<int>(sizes.size()), MPI_UINT64_T, 0, node), "MPI_Bcast");
    topology = topology_of(sizes);
    return topology.first_rank(number_and_count[0]) + rank;
}

void NodeGroup::forget(uint64_t ranks) {
    board.reset();
    if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
    topology = {ranks, ranks};
}

}  // namespace tailrace
