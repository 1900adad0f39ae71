// The id in the log of a file, by its path or by a file descriptor. A table has the file of each descriptor.
#pragma once

#include <fcntl.h>

#include <cstdint>

namespace tailrace::preload {

// The id of an open descriptor's file. Asks the kernel if the table does not have it, such as for a descriptor of the parent
// process.
uint64_t file_id(int descriptor);
// The id of the file with this path; relative paths are below `directory`. An empty path means the
// file of `directory` itself. 0 if `path` is a null pointer.
uint64_t file_id(const char* path, int directory = AT_FDCWD);

namespace fd_table {

void set(int descriptor, uint64_t file);
void clear(int descriptor);
void clear(unsigned first, unsigned last);
void dup(int from, int to);

}  // namespace fd_table

}  // namespace tailrace::preload
