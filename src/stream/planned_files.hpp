// The sizes of a planned stream's files: the metadata of its parts, and its index. The code that writes the files computes them,
// for a stream without attributes, coordinates and compression. Touches no file and needs no MPI.
#pragma once

#include <cstdint>

#include "layout/keys.hpp"
#include "layout/plan.hpp"

namespace tailrace {

struct PlannedFiles {
    uint64_t metadata_bytes = 0;  // of all parts: superblocks, object headers, chunk indexes, checksums and gaps
    uint64_t index_bytes = 0;     // NAME.nc and its subindexes; 0 where NAME.nc is a part
};
// Dimensions of the same length count as one dimension that variables share. With very many parts or steps, the sizes are estimated
// from a sample. Throws the errors that defining or writing the stream would throw.
PlannedFiles planned_files(const PlanRequest& request, const StreamConfig& config);

}  // namespace tailrace
