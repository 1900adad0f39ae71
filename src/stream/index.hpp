// The index: a small NetCDF-4 file in which all the parts of a stream are one dataset, by virtual datasets over them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "stream/history.hpp"

namespace tailrace {

// Writes the index of all committed steps, by a temporary name and a rename. One index holds
// at most kMaxIndexParts parts: with more, files NAME.SSSSSS.nc hold the steps from S on, and NAME.nc is not there. A single
// step of more parts has no index at all.
void write_index(const std::string& directory, const std::string& stream, const History& history, bool sync);

// The steps of each index file: first step and path below the directory; none where there is no index.
struct IndexFile {
    uint64_t first_step = 0, steps = 0;
    std::string path;
};
std::vector<IndexFile> index_files(const History& history, const std::string& stream);

// The index files that are there.
std::vector<std::string> index_paths(const std::string& directory, const std::string& stream);

}  // namespace tailrace
