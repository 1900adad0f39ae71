// Files as ids of the log: by their path, and by a descriptor. A table keeps the file of each descriptor.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace tailrace::preload {

// The file of an open descriptor. Asks the kernel where the table does not have it, as for a descriptor of the parent process.
uint64_t file_id(int descriptor);
// The file of a path; relative paths are below `directory`. 0 for no path.
uint64_t file_id(const char* path, int directory = AT_FDCWD);

namespace fd_table {

void set(int descriptor, uint64_t file);
void clear(int descriptor);
void clear(unsigned first, unsigned last);
void dup(int from, int to);

}  // namespace fd_table

}  // namespace tailrace::preload
