// Whether a stream is whole.
#pragma once

#include <string>

#include "base/journal.hpp"

namespace tailrace {

// JSON as documented at tailrace_verify; what is wrong is listed, not thrown.
Json verify_stream(const std::string& directory, const std::string& stream, bool deep);

}  // namespace tailrace
