// Removes the last steps of a stream, because a run continues before them (mode = resume) or `tailrace rewind` drops them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/journal.hpp"
#include "record/history.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// Removes all steps from `first` on, also those that are staged; there must be at least one. Local, called by the only process
// that writes to the stream. `why`: kDropResume or kDropRewind. First `append` writes the line of the journal; it throws if
// another run has taken over. Then the dataset and the index no longer show the steps; then files that have no other steps are
// removed. A process that ends in between leaves a stream that can be read correctly. Returns the paths that it removed.
std::vector<std::string> leave_steps(const StreamPaths& paths, History& history, uint64_t first, const char* why,
                                     const std::function<void(const Json&)>& append);

// Sets the time of damaged steps to NaN in the part that is the dataset, because any tool may open that file. `steps`: the indices
// of the damaged steps in the part, from 0.
void clear_times(const std::string& path, const std::string& time_name, const std::vector<uint64_t>& steps);

}  // namespace tailrace
