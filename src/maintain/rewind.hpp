// Takes the last steps out of a stream by hand, as a run with mode = resume does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/journal.hpp"

namespace tailrace {

// Which steps to drop; exactly one member is set.
struct RewindTo {
    std::optional<double> before;   // drops the steps at or after this time
    std::optional<uint64_t> steps;  // drops so many of the last steps
};

// JSON as documented at tailrace_rewind. Throws NOT_FOUND where there is no such stream; IN_USE while another process writes it,
// unless this one `takes_over`.
Json rewind_stream(const std::string& directory, const std::string& stream, const RewindTo& to, bool takes_over);

}  // namespace tailrace
