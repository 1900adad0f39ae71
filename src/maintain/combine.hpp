// All steps of a stream as one plain NetCDF-4 file: no parts, no index.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/journal.hpp"

namespace tailrace {

struct CombineOptions {
    unsigned threads = 0;  // that read and write; 0: as many as cores, at most 8
    bool replace = false;  // an output that is there
    bool sync = false;     // on the device when it gets its name
    // Called after each piece, from the calling thread; false: stop here, to be taken up again later.
    std::function<bool(uint64_t done_bytes, uint64_t all_bytes)> progress;
};

// The output has its name when it is whole. Until then it is OUTPUT.combining beside what is done of it, OUTPUT.combining.jsonl:
// the next call for the same steps goes on from there, any other begins anew. JSON as documented at tailrace_combine.
// Throws NOT_FOUND without stream or step, BAD_ARGUMENT where the output is there already or a file of the stream, CORRUPT for a
// part that is missing or changed, STOPPED when progress said so.
Json combine_stream(const std::string& directory, const std::string& stream, const std::string& output,
                    const CombineOptions& options);

}  // namespace tailrace
