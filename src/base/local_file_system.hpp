// Whether a file is on a device of this machine, or comes from a server.
#pragma once

namespace tailrace {

// True for the usual local file systems; false for all others: parallel and network ones, FUSE, and those that are not known.
bool is_on_local_file_system(int descriptor);

}  // namespace tailrace
