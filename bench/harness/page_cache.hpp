// The pages of a folder's files in the page cache, on the node of the calling rank.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

// Asks the system to drop the pages, after fsync. A file system in memory keeps them, and so does the system for pages in use.
void drop_pages(const std::string &folder);
// Reads the files from their beginnings, so that their pages are cached.
void load_pages(const std::string &folder);
// The number of cached bytes of the files.
uint64_t bytes_in_memory(const std::string &folder);

}  // namespace bench
