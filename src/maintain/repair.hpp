// Repairs a damaged stream, so that it can be read and appended to. Drops damaged steps, and renames their files to keep them.
#pragma once

#include <string>

#include "base/journal.hpp"

namespace tailrace {

// JSON as documented at tailrace_repair. Throws NOT_FOUND where there is no such stream; IN_USE while another process writes it,
// unless this one `takes_over`.
Json repair_stream(const std::string& directory, const std::string& stream, bool takes_over);

}  // namespace tailrace
