// The index: a small NetCDF-4 file in which all the parts of a stream are one dataset, by virtual datasets over them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record/history.hpp"

namespace tailrace {

// Writes the index of all committed steps, by a temporary name and a rename. One index holds
// at most kMaxIndexParts parts: with more, files NAME.SSSSSS.nc hold the steps from S on, and NAME.nc is not there. A single
// step of more parts has no index at all. Files that show nothing but the first `unchanged` of History::steps stay as they are.
void write_index(const std::string& directory, const std::string& stream, const History& history, size_t unchanged, bool sync);

// The steps of each index file, [from, to) in History::steps, and its path below the directory; none where there is no index.
struct IndexFile {
    size_t from = 0, to = 0;
    std::string path;
    uint64_t steps() const { return to - from; }
};
std::vector<IndexFile> index_files(const History& history, const std::string& stream);

// The files that are there: NAME.nc, and those with numbers that tell they are an index of this stream.
std::vector<std::string> index_paths(const std::string& directory, const std::string& stream);
// Whether the file tells that it is an index of this stream.
bool is_index(const std::string& path, const std::string& stream);
// Throws BAD_ARGUMENT where something else stands in an index's place.
void check_index_path(const std::string& path, const std::string& stream);

}  // namespace tailrace
