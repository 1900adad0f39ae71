// Checks of the communicator, and of the other arguments, of a collective call that opens a stream or reader.
#pragma once

#include <mpi.h>

#include "base/error.hpp"
#include "gather/agree.hpp"
#include "gather/communicator_pool.hpp"

namespace tailrace {

// Throws unless MPI is initialized and `comm` is not MPI_COMM_NULL. `call`: the caller's name, for the message.
inline void require_mpi(MPI_Comm comm, const char* call) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized)
        fail(Status::BAD_ORDER, "MPI is not running; call MPI_Init before ", call, ", and close before MPI_Finalize");
    if (comm == MPI_COMM_NULL) fail(Status::BAD_ARGUMENT, "the communicator is MPI_COMM_NULL");
}

// Collective. Runs `check` on the other arguments of an opening. A rank whose arguments are wrong takes part in the first agreement
// of the call, so that all ranks fail.
template <class Vote, class Check>
void check_arguments(MPI_Comm comm, Check&& check) {
    const auto error = attempt(check);
    if (!error) return;
    const auto ranks = take_communicator(comm);
    run_or_end_job(ranks->size() > 1, [&] { agree(*ranks, Vote{}, error); });
}

}  // namespace tailrace
