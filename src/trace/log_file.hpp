// The file of a log: making it, and mapping parts of it as memory. Internal to src/trace.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// Makes FOLDER/HOST.PROCESS.N.trace with room for a header, and maps that; nullptr where it cannot be made. Sets `process.path`.
Header* create_log_file(ProcessState& process, const char* folder, const Header& described);

// Opens the log's file and returns a file descriptor, or -errno; -ESTALE if another file has its name now. The file is opened again
// for each chunk. A descriptor that stays open could be closed by the program, which then may get its number for another file.
int64_t open_log_file(ProcessState& process);

// Maps a part of the file and closes the file descriptor `log`. On failure returns nullptr and sets `error` to -errno: the disk is
// full, the file would exceed the user's size limit (-EFBIG), or the kernel refuses.
void* map_log_file(const ProcessState& process, int64_t log, uint64_t offset, uint64_t bytes, int64_t& error);

}  // namespace tailrace::trace
