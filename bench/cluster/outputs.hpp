// The outputs of a run through the library under one layout.
#pragma once

#include "harness/options.hpp"

namespace bench {

// Collective. Writes --steps steps of --arrays arrays of --kib KiB a rank, at most for --seconds. Reads all of them back by the
// library, each rank what another one wrote, every byte checked.
void measure_outputs(const Options &options);

}  // namespace bench
