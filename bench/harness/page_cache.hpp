// The pages that the system keeps of a folder's files, on the node of the calling rank.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

// Asks the system to drop them, after the bytes are on the device. A file system in memory, and a page in use, keep theirs.
void drop_pages(const std::string &folder);
// Reads the files from their beginnings.
void load_pages(const std::string &folder);
// How many bytes of the files are there.
uint64_t bytes_in_memory(const std::string &folder);

}  // namespace bench
