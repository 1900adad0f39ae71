// Which ranks of a communicator share a node.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "gather/node_board.hpp"
#include "layout/topology.hpp"

namespace tailrace {

// The node of a rank, and its communicators. Until split() is called, each rank counts as a node of its own.
struct NodeGroup {
    MPI_Comm node = MPI_COMM_NULL;
    // The communicator of the first ranks of all nodes. MPI_COMM_NULL on all other ranks, and if there is one node.
    MPI_Comm leaders = MPI_COMM_NULL;
    std::unique_ptr<NodeBoard> board;  // null if the node has one rank
    uint64_t rank = 0, size = 1;       // in the node
    Topology topology;                 // of all ranks, as find_nodes() numbers them

    NodeGroup() = default;
    ~NodeGroup();
    NodeGroup(const NodeGroup&) = delete;
    NodeGroup& operator=(const NodeGroup&) = delete;

    // Collective over `all`. Ranks with equal `number` are a node; without a number, MPI says which ranks share memory.
    void split(MPI_Comm all, std::optional<uint64_t> number);
    // Collective over `all`, after split(). Returns the number of this rank when ranks are numbered node by node; the nodes are in
    // the order of their lowest ranks.
    uint64_t find_nodes(MPI_Comm all);
    // Makes every one of `ranks` ranks count as a node of its own again.
    void forget(uint64_t ranks);
};

}  // namespace tailrace
