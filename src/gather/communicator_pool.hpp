// Communicators of closed streams, kept for the next stream over the same ranks (docs/decisions/0013). Arranging a new one takes a
// dozen collective MPI calls: 2 to 3 ms with twice as many ranks as cores, measured.
#pragma once

#include <memory>

#include "gather/communicator.hpp"

namespace tailrace {

// Collective over `user`. Returns a communicator that is arranged by the nodes that MPI finds.
std::shared_ptr<Communicator> take_communicator(MPI_Comm user);

// Returns a communicator to its pool, on all ranks or on none. Call it after an agreement that all ranks have finished with it, so
// that no message is under way. The caller sends no more messages over it. A communicator that is never given back is freed by its
// last owner.
void give_back(const std::shared_ptr<Communicator>& ranks);

// Frees the shared memory that this process keeps for later streams: that of `ranks` and of all idle communicators. The system
// reclaims it when all ranks of the node have freed it. Returns whether there was any, which may differ between ranks.
bool free_kept_memory(const Communicator& ranks);

}  // namespace tailrace
