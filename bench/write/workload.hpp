// What is written: the same arrays for every method, in memory before any clock starts.
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
    std::vector<Buffer> steps;         // [step]: this rank's blocks, variable after variable
    std::vector<Buffer> global_steps;  // [step]: on rank 0, when a lone writer is measured: the blocks of all ranks

    Workload(Case of, MPI_Comm on, bool with_global);
    const void *block(int step, int variable) const;
    std::array<uint64_t, 3> global() const { return shape.global(ranks); }
    std::array<uint64_t, 3> offset(int of_rank) const;  // where a rank's block starts
    uint64_t first_index(int of_rank) const { return static_cast<uint64_t>(of_rank) * shape.block_elements(); }
};

}  // namespace bench
