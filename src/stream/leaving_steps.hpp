// The last steps leave a stream: a run continues before them (mode = resume), or `tailrace rewind` drops them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/journal.hpp"
#include "record/history.hpp"
#include "stream/stream_paths.hpp"

namespace tailrace {

// Local, by the only process that writes to the stream. All steps from `first` on leave; there is at least one. `why`: kDropResume
// or kDropRewind. First `append` writes the line of the journal, and throws where another run has taken over. Then what people open
// no longer shows the steps, then files without other steps are removed. A process that ends in between leaves a stream that reads
// right. Returns what it removed.
std::vector<std::string> leave_steps(const StreamPaths& paths, History& history, uint64_t first, const char* why,
                                     const std::function<void(const Json&)>& append);

// The part that is the dataset is opened by plain tools. Damaged steps that left it get NaN as their time there. `steps`: their
// numbers in the part.
void clear_times(const std::string& path, const std::string& time_name, const std::vector<uint64_t>& steps);

}  // namespace tailrace
