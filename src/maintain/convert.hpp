// Writes a stream once more, under another layout.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/journal.hpp"

namespace tailrace {

// Collective. Writes all committed steps of a stream in their order, as the stream of the same name in directory `to`. The layout
// is that of `options` and the configuration. Each rank moves its slab of each array, one step at a time. Steps that an earlier
// call has committed there stay, and the others follow. `progress` is called on rank 0 after each step; if it returns false, the
// conversion stops there. JSON as documented at tailrace_convert. Throws BAD_ARGUMENT where `to` has other steps, or is `from`;
// STOPPED.
using StepProgress = std::function<bool(uint64_t done_steps, uint64_t all_steps)>;
Json convert_stream(MPI_Comm comm, const std::string& from, const std::string& stream, const std::string& to,
                    const std::string& options, const StepProgress& progress);

}  // namespace tailrace
