// The streams of a directory, listed from their journals.
#pragma once

#include <string>

#include "base/journal.hpp"

namespace tailrace {

// Throw NOT_FOUND: the first unless the directory exists, the second unless the stream exists in it.
void require_directory(const std::string& directory);
void require_stream(const std::string& directory, const std::string& stream);

// JSON as documented at tailrace_list. `stream` empty: all streams of the directory. Throws NOT_FOUND where there is none.
Json list_streams(const std::string& directory, const std::string& stream);

// Writes the index again. Throws NOT_FOUND if the stream does not exist or has no committed step; IN_USE while another process
// writes the stream, unless it `takes_over`.
void index_stream(const std::string& directory, const std::string& stream, bool takes_over);

}  // namespace tailrace
