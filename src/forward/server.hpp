// A rank that only writes: it serves requests until it is released.
#pragma once

#include "forward/roles.hpp"
#include "gather/communicator.hpp"

namespace tailrace {

// Collective over `writers`, the ranks of the job that write.
void serve(const Communicator& job, const Roles& roles, MPI_Comm writers);

}  // namespace tailrace
