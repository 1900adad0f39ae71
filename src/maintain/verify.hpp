// Checks that all files of the committed steps of a stream exist and are whole.
#pragma once

#include <string>

#include "base/journal.hpp"

namespace tailrace {

// JSON as documented at tailrace_verify. Problems are listed, not thrown. Throws NOT_FOUND where there is no such stream.
Json verify_stream(const std::string& directory, const std::string& stream, bool deep);

}  // namespace tailrace
