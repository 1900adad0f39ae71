// Which ranks of a job only write, and for which ranks. They are spread over the nodes; a rank's writer is on its own node if that
// node has one.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace tailrace {

struct Roles {
    std::vector<bool> writes;      // of each rank
    std::vector<uint64_t> writer;  // of each rank that computes: the number of its writer, from 0; ascending with the ranks
};

// `node_of`: the node of each rank, ascending. At most half of the ranks may be `dedicated`, so that each writer has a client.
Roles choose_roles(const std::vector<uint64_t>& node_of, uint64_t dedicated);

}  // namespace tailrace
