// Files and bytes by plain system calls: the speed of a file system on this number of ranks.
#pragma once

#include "harness/options.hpp"

namespace bench {

// Collective. Creates, stats and removes --files files a rank; writes --mib MiB a rank, synced, and reads them back, every byte
// checked.
void measure_storage(const Options &options);

}  // namespace bench
