// Records in the journal the attributes that another program has changed in NAME.nc, so that runs append to that file again.
#pragma once

#include <string>

#include "base/journal.hpp"

namespace tailrace {

// JSON as documented at tailrace_adopt. Throws NOT_FOUND where there is no such stream; IN_USE while another process writes it,
// unless this one `takes_over`; UNSUPPORTED where more than attributes was changed.
Json adopt_stream(const std::string& directory, const std::string& stream, bool takes_over);

}  // namespace tailrace
