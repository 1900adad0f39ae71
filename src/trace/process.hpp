// What the header of a log says of its process. Called once a process, before its first event; asks the kernel, takes no memory.
#pragma once

#include "trace/format.hpp"

namespace tailrace::trace {

// Everything but the times of the beginning, the budget and what comes later.
void describe_process(Header& header);

// Programs that start ranks and are none; nor do they tell of their own calls.
bool is_launcher(const char* program);

}  // namespace tailrace::trace
