// Which ranks of a job only write, and for which ranks they do. Writers are spread over the nodes; the writer of a rank is on the
// rank's own node if that node has a writer.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace tailrace {

struct Roles {
    std::vector<bool> writes;      // for each rank: whether it only writes
    std::vector<uint64_t> writer;  // for each rank that computes: the number of its writer, from 0; ascending with the ranks
};

// `node_of`: the node of each rank, ascending. At most half of the ranks may be `dedicated`, so that each writer has a client.
Roles choose_roles(const std::vector<uint64_t>& node_of, uint64_t dedicated);

}  // namespace tailrace
