// The file of a log: making it, and mapping parts of it as memory. Internal to src/trace.
#pragma once

#include "trace/process_state.hpp"

namespace tailrace::trace {

// Makes FOLDER/HOST.PROCESS.N.trace with room for a header, and maps that; nullptr where it cannot be made. Sets `process.path`.
Header* create_log_file(ProcessState& process, const char* folder, const Header& described);

// A descriptor of the file, or -errno; -ESTALE where another file has its name. RATIONALE: the file is opened for each chunk. The
// program would see a descriptor that stays open; it may close that descriptor and get another file under the same number.
int64_t open_log_file(ProcessState& process);

// Maps a part of the file and closes `log`. Otherwise nullptr, and `error` is -errno: the disk has no room, the file would be
// larger than the user's limit (-EFBIG), or the kernel refuses.
void* map_log_file(const ProcessState& process, int64_t log, uint64_t offset, uint64_t bytes, int64_t& error);

}  // namespace tailrace::trace
