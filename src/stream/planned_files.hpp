// The sizes of a planned stream's files: the metadata of its parts, its index and its journal. The code that writes the files
// computes them, for a stream without compression. Touches no file of a stream and needs no MPI.
#pragma once

#include <cstdint>

#include "layout/keys.hpp"
#include "layout/plan.hpp"

namespace tailrace {

struct PlannedFiles {
    uint64_t metadata_bytes = 0;  // of all parts: superblocks, object headers, chunk indexes, checksums and gaps
    uint64_t index_bytes = 0;     // NAME.nc and its subindexes; 0 where NAME.nc is a part
    uint64_t index_files = 0;
    uint64_t journal_bytes = 0;  // of one run
};
// `submitted`: the request as JSON. With very many parts or steps, the sizes are estimated from a sample. Throws the errors that
// defining or writing the stream would throw.
PlannedFiles planned_files(const PlanRequest& request, const StreamConfig& config, const nlohmann::json& submitted);

}  // namespace tailrace
