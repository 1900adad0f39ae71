// Communicators of streams that are closed, for the next stream over the same ranks: arranging one takes a dozen collective calls
// of MPI, two to three milliseconds with twice as many ranks as cores; measured.
#pragma once

#include <memory>

#include "gather/communicator.hpp"

namespace tailrace {

// Collective over `user`. One that is arranged by the nodes that MPI tells.
std::shared_ptr<Communicator> take_communicator(MPI_Comm user);

// On all ranks or on none, with no message under way: after an agreement that all ranks are done with it. The caller may keep it,
// and no longer talks over it. What is never given back is freed with its last owner.
void give_back(const std::shared_ptr<Communicator>& ranks);

// Gives up the shared memory that is kept for the next streams over these ranks, and over idle communicators of this process. The
// system has it back when all ranks of the node have given it up. Returns whether there was any: that may be otherwise on others.
bool free_kept_memory(const Communicator& ranks);

}  // namespace tailrace
