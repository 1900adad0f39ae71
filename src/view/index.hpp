// The index: a small NetCDF-4 file that shows all parts of a stream as one dataset. Its variables are virtual datasets over the
// parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "record/history.hpp"

namespace tailrace {

// Which steps write_index() shows: the first `shown` steps of History::steps. Subindexes that show only steps below
// `unchanged_below` are not written again.
struct IndexedSteps {
    uint64_t unchanged_below = 0;
    size_t shown = SIZE_MAX;
};
// Writes NAME.nc; of more than kMaxIndexParts parts it is an index of subindexes (subindexes.hpp). Every file is written under a
// temporary name and renamed. `run`: the number of the run or command, for the temporary names.
void write_index(const std::string& directory, const std::string& stream, const History& history, const IndexedSteps& steps,
                 bool sync, uint64_t run = 0);
// NAME.nc and its subindexes as write_index() would write them. The history must have the boxes of all parts.
struct IndexSize {
    uint64_t files = 0, bytes = 0;
};
IndexSize index_size(const History& history, const std::string& stream);
// Removes NAME.nc, its subindexes, and the files NAME.SSSSSS.nc that versions before 0.2 wrote.
void remove_index(const std::string& directory, const std::string& stream);
// For a run that was overtaken, and a command without the lock: makes NAME.nc show what the journal on storage has, even if others
// write the stream meanwhile.
void show_journal(const std::string& directory, const std::string& stream, uint64_t run, bool sync);
// Makes NAME.nc a second name of the part that is the dataset, if that part has a number in its name.
void show_dataset(const std::string& directory, const std::string& stream, const GroupEntry& group, uint64_t run);

// Whether NAME.nc is an index. False if the part itself is the dataset.
bool has_index(const History& history);
// The files of the index that must exist, as paths below the directory: NAME.nc and its subindexes.
std::vector<std::string> index_files(const History& history, const std::string& stream);

// The note that `ls`, `verify`, the end of a run and an attribute of NAME.nc show if a reader with the usual limit cannot open all
// parts; else "".
std::string note_of_open_files(const History& history, const std::string& stream);

// The files beside NAME.parts that exist: NAME.nc, and files with numbers that are an index of this stream, of versions before 0.2.
std::vector<std::string> index_paths(const std::string& directory, const std::string& stream);
// Whether an attribute of the file says that it is an index of this stream.
bool is_index(const std::string& path, const std::string& stream);
// Throws BAD_ARGUMENT if a file that is not of a stream has the name of the index.
void check_index_path(const std::string& directory, const std::string& stream);

}  // namespace tailrace
