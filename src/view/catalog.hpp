// Streams as they are on storage: what a directory holds.
#pragma once

#include <string>

#include "base/journal.hpp"

namespace tailrace {

// Throws NOT_FOUND unless there is such a directory, such a stream in it.
void require_directory(const std::string& directory);
void require_stream(const std::string& directory, const std::string& stream);

// `stream` empty: all streams of the directory. JSON as documented at tailrace_list. Throws NOT_FOUND where there is none.
Json list_streams(const std::string& directory, const std::string& stream);

// Writes the index anew. Throws NOT_FOUND where there is no such stream or no committed step.
void index_stream(const std::string& directory, const std::string& stream);

}  // namespace tailrace
