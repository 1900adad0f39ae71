// The part that is the dataset, where no run writes it: the steps that readers see, and copies.
#pragma once

#include <cstdint>
#include <string>

#include "record/history.hpp"
#include "record/write_access.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// Local, by the only process that writes to the stream. Readers of the last group's part, at `path`, see its first `steps` steps,
// whatever they saw before. There is at least one. New metadata is written at the end of the file.
void show_steps(const std::string& path, const History& history, uint64_t steps);

// Local. Whether the arrays of those steps are where Tailrace has stored them: not where another program has written the file anew.
bool stores_where_laid_out(const std::string& path, const History& history, uint64_t steps);

// Local, where an earlier run may still write into the dataset: from here on it is a copy, with this run's number in its name.
// Without effect where it is one already, or where the last group is no dataset.
void copy_dataset(History& history, const StreamPaths& paths, bool sync, WriteAccess& access);

}  // namespace tailrace
