// Files and bytes by plain system calls: the speed of a file system on this number of ranks.
#pragma once

#include "harness/options.hpp"

namespace bench {

// Collective. Each rank creates, stats and removes --files files, then writes and syncs --mib MiB, and reads them back, checking
// every byte.
void measure_storage(const Options &options);

}  // namespace bench
