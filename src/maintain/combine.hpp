// Combines all steps of a stream in one plain NetCDF-4 file without parts or index.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/journal.hpp"

namespace tailrace {

struct CombineOptions {
    unsigned threads = 0;  // number of copying threads; 0: one for each core, at most 8
    bool replace = false;  // replaces an output that exists
    bool sync = false;     // fsync the output before it gets its name
    // Called after each piece, from the calling thread. If it returns false, the combine stops there, and a later call continues.
    std::function<bool(uint64_t done_bytes, uint64_t all_bytes)> progress;
};

// The output is named OUTPUT.combining until it is whole; OUTPUT.combining.jsonl logs what is done. The next call for the same
// steps continues from there; a call for other steps begins anew. Returns the JSON documented at tailrace_combine.
// Throws NOT_FOUND where there is no such stream or no committed step. Throws BAD_ARGUMENT if the output exists or is a file of the
// stream, CORRUPT for a part that is missing or changed, STOPPED if progress returned false.
Json combine_stream(const std::string& directory, const std::string& stream, const std::string& output,
                    const CombineOptions& options);

}  // namespace tailrace
