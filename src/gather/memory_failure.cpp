#include "gather/memory_failure.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "gather/waiting.hpp"

namespace tailrace {

void end_job_out_of_memory() noexcept {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr,
                 "tailrace: rank %d has no memory left in the middle of a collective call, where other ranks wait for it: the job "
                 "ends. Committed steps stay. Give each rank more memory, or a node fewer ranks.\n",
                 rank);
    std::this_thread::sleep_for(waiting::kBeforeAbort);
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
