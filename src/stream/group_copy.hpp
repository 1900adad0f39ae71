// A copy of a group of parts that an earlier run may still write.
#pragma once

#include "record/history.hpp"
#include "record/write_access.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// Local, for a run that follows one which may live. If parts of the last group show fewer steps than are committed, replaces the
// group by a copy that shows all of them and has this run's number in its name. An index over the parts themselves would show wrong
// values. Not for the dataset: see copy_dataset().
void copy_outdated_group(History& history, const StreamPaths& paths, bool sync, WriteAccess& access);

}  // namespace tailrace
