// Registers work that needs MPI and is done when the program ends.
#pragma once

#include <functional>

namespace tailrace {

// MPI_Finalize does the work at its beginning, while messages still arrive and communicators can be freed. Work that was registered
// last is done first. It must not throw.
void at_finalize(std::function<void()> work);

}  // namespace tailrace
