// Which ranks of a job only write, and for whom: spread over the nodes, each for ranks of its own node where there is one.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace tailrace {

struct Roles {
    std::vector<bool> writes;      // of each rank
    std::vector<uint64_t> writer;  // of each rank that computes: the number of its writer, from 0; ascending with the ranks
};

// `node_of`: of each rank, ascending. There are at least as many ranks that compute as `dedicated` ones, so that each has one to
// write for.
Roles choose_roles(const std::vector<uint64_t>& node_of, uint64_t dedicated);

}  // namespace tailrace
