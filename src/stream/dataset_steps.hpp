// The part that is the dataset (NAME.nc), while no run writes it: sets the steps that readers see, and copies the part.
#pragma once

#include <cstdint>
#include <string>

#include "record/history.hpp"
#include "record/write_access.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// Makes readers of the last group's part, at `path`, see its first `steps` steps (at least 1), whatever they saw before. Local,
// called by the only process that writes to the stream. Writes new metadata at the end of the file.
void show_steps(const std::string& path, const History& history, uint64_t steps);

// Whether the arrays of the first `steps` steps are where Tailrace has stored them. False if another program has written the file
// anew. Local.
bool stores_where_laid_out(const std::string& path, const History& history, uint64_t steps);

// Local. Replaces the dataset by a copy with this run's number in its name, because an earlier run may still write into the file.
// Does nothing if the dataset is such a copy already, or if the last group's part is not the dataset.
void copy_dataset(History& history, const StreamPaths& paths, bool sync, WriteAccess& access);

}  // namespace tailrace
