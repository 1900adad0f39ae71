// What is still to be done through MPI when the program ends.
#pragma once

#include <functional>

namespace tailrace {

// The program's MPI_Finalize does it, while messages still go and communicators can be freed; what was asked for last comes first.
// `work` throws nothing.
void at_finalize(std::function<void()> work);

}  // namespace tailrace
