// The description of this process in the header of its log. Internal to src/trace.
#pragma once

#include "trace/format.hpp"

namespace tailrace::trace {

// Fills all fields but the times, the budget, and those that are known later. Called once for each process, before its first event.
void describe_process(Header& header);

// Whether a program is an MPI launcher, which starts ranks and is not a rank itself. Launchers are not recorded.
bool is_launcher(const char* program);

}  // namespace tailrace::trace
