// How long the files of a planned stream get: what its parts hold beside the arrays, and its index. The code that writes the files
// says it, for a stream without attributes, coordinates and compression. No file is touched, no rank is asked.
#pragma once

#include <cstdint>

#include "layout/keys.hpp"
#include "layout/plan.hpp"

namespace tailrace {

struct PlannedFiles {
    uint64_t metadata_bytes = 0;  // of all parts: superblocks, object headers, chunk indexes, checksums and gaps
    uint64_t index_bytes = 0;     // NAME.nc and its subindexes; 0 where NAME.nc is a part
};
// Dimensions of the same length count as one that variables share. Of very many parts or steps, a sample is computed.
// Throws what defining or writing the stream would throw.
PlannedFiles planned_files(const PlanRequest& request, const StreamConfig& config);

}  // namespace tailrace
