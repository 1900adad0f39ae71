// Work that needs MPI and is done when the program ends.
#pragma once

#include <functional>

namespace tailrace {

// The program's MPI_Finalize does the work, while messages still arrive and communicators can be freed. Work that was passed last
// is done first. It must not throw.
void at_finalize(std::function<void()> work);

}  // namespace tailrace
