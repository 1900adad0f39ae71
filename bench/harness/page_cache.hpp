// The pages of a folder's files in the page cache, on the node of the calling rank.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

// Syncs the files and asks the system to drop their pages. File systems in memory keep the pages, and pages in use are kept, too.
void drop_pages(const std::string &folder);
// Reads the files from their beginnings, so that their pages are cached.
void load_pages(const std::string &folder);
// The number of cached bytes of the files.
uint64_t bytes_in_memory(const std::string &folder);

}  // namespace bench
