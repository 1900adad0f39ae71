// The written data: the same arrays for every method, in memory before any clock starts.
#pragma once

#include "harness/arrays.hpp"

#include <mpi.h>

#include <vector>

namespace bench {

struct Workload {
    Case shape;
    MPI_Comm comm;
    int rank;
    int ranks;
    std::vector<Buffer> steps;  // [step]: this rank's blocks, variable after variable
    // [step]: for single writers: on rank 0 the blocks of all ranks, on the first rank of the second half the blocks of that half.
    std::vector<Buffer> global_steps;

    Workload(Case of, MPI_Comm on, bool with_global);
    int first_of_half(int of_rank) const { return of_rank < (ranks + 1) / 2 ? 0 : (ranks + 1) / 2; }
    uint64_t ranks_of_half() const { return static_cast<uint64_t>(rank == 0 ? (ranks + 1) / 2 : ranks / 2); }
    const void *block(int step, int variable) const;
    std::array<uint64_t, 3> global() const { return shape.global(ranks); }
    std::array<uint64_t, 3> offset(int of_rank) const;  // where a rank's block starts
    uint64_t first_index(int of_rank) const { return static_cast<uint64_t>(of_rank) * shape.block_elements(); }
};

}  // namespace bench
