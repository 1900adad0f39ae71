// The communicator that a collective opening is given.
#pragma once

#include <mpi.h>

#include "base/error.hpp"

namespace tailrace {

// Throws unless MPI runs and there is a communicator.
inline void require_mpi(MPI_Comm comm, const char* call) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized)
        fail(Status::BAD_ORDER, "MPI is not running; call MPI_Init before ", call, ", and close before MPI_Finalize");
    if (comm == MPI_COMM_NULL) fail(Status::BAD_ARGUMENT, "the communicator is MPI_COMM_NULL");
}

}  // namespace tailrace
