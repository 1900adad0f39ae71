// The outputs of a run through the library under one layout.
#pragma once

#include "harness/options.hpp"

namespace bench {

// Collective. Writes --steps steps of --arrays arrays of --kib KiB for each rank, for at most --seconds. Then reads all of them
// back by the library, each rank the data of another one, checking every byte.
void measure_outputs(const Options &options);

}  // namespace bench
