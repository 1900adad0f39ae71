// A stream of many parts has an index of index files: each of those, a subindex, shows some of the parts. See decision 0037.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "record/history.hpp"

namespace tailrace {

// A subindex. Step `start` + k is at position k along time, even if steps before it were dropped. So a reader of an older NAME.nc
// sees the right steps in a subindex that was written again.
struct Subindex {
    size_t from = 0, to = 0;                 // its steps: [from, to) of History::steps; a static subindex has none
    uint64_t start = 0;                      // the number of the first step of its first group
    uint64_t first_part = 0, last_part = 0;  // it shows the parts [first_part, last_part) of each of its groups
    uint64_t length = 0;                     // positions along time
    bool is_static = false;                  // it shows only the static arrays of a group
    std::string path;                        // below the stream's directory
    bool shows(uint64_t part) const { return part >= first_part && part < last_part; }
};

// Where the subindexes are, below the stream's directory.
std::string subindexes_directory(const std::string& stream);

// The number of parts that have the first `end` steps and the static arrays of these steps.
uint64_t shown_parts(const History& history, size_t end = SIZE_MAX);
// The subindexes of the first `end` steps; none where NAME.nc shows at most kMaxIndexParts parts by itself.
std::vector<Subindex> subindexes_of(const History& history, const std::string& stream, size_t end = SIZE_MAX);

}  // namespace tailrace
