// The index: a small NetCDF-4 file that shows all parts of a stream as one dataset. Its variables are virtual datasets over the
// parts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "record/history.hpp"

namespace tailrace {

// Writes the index of all committed steps under a temporary name and renames it. An index file has at most kMaxIndexParts parts. A
// stream with more of them has no NAME.nc, but files NAME.SSSSSS.nc with the steps from S on. If a single step has more parts,
// there is no index. `run`: the number of the run or command, for the temporary name.
struct IndexedSteps {
    size_t unchanged = 0;   // files that show only steps among so many first ones of History::steps are not written again
    size_t end = SIZE_MAX;  // and none of those from here on is shown
};
void write_index(const std::string& directory, const std::string& stream, const History& history, const IndexedSteps& steps,
                 bool sync, uint64_t run = 0);
// For a run that was overtaken, and a command without the lock: the index, or the dataset, as the journal on storage has it, also
// where others write it meanwhile.
void show_journal(const std::string& directory, const std::string& stream, uint64_t run, bool sync);
// Where the one part that is the dataset has a number in its name, NAME.nc is another name of the same file.
void show_dataset(const std::string& directory, const std::string& stream, const GroupEntry& group, uint64_t run);

// The steps of an index file, [from, to) in History::steps, and its path below the directory.
struct IndexFile {
    size_t from = 0, to = 0;
    std::string path;
    uint64_t steps() const { return to - from; }
};
// Whether NAME.nc, or numbered files, are an index: not where the part itself is the dataset.
bool has_index(const History& history);
// Of the first `end` steps. Empty: there is no index.
std::vector<IndexFile> index_files(const History& history, const std::string& stream, size_t end = SIZE_MAX);

// The index files that exist: NAME.nc, and files with numbers that are an index of this stream.
std::vector<std::string> index_paths(const std::string& directory, const std::string& stream);
// Whether an attribute of the file says that it is an index of this stream.
bool is_index(const std::string& path, const std::string& stream);
// Throws BAD_ARGUMENT if another file has the name of the index.
void check_index_path(const std::string& path, const std::string& stream);

}  // namespace tailrace
