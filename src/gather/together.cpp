#include "gather/together.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tailrace {

void end_job_without_memory() noexcept {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr,
                 "tailrace: rank %d has no memory left in the middle of a collective call, where other ranks wait for it: the job "
                 "ends. Committed steps stay. Give each rank more memory, or a node fewer ranks.\n",
                 rank);
    // RATIONALE: MPICH's launcher throws away what it has not read yet of a rank's errors when the job is aborted: in one of ten
    // such ends on a busy machine nobody was told why.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

bool has_others(MPI_Comm comm) noexcept {
    int runs = 0, ended = 0, ranks = 1;
    MPI_Initialized(&runs);
    MPI_Finalized(&ended);
    return runs && !ended && comm != MPI_COMM_NULL && MPI_Comm_size(comm, &ranks) == MPI_SUCCESS && ranks > 1;
}

}  // namespace tailrace
