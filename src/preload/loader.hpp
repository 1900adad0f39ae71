// What the dynamic loader has read of programs and libraries. The log is updated while the process runs, so the log of a killed
// process has it, too.
#pragma once

#include <link.h>

#include "trace/log.hpp"

namespace tailrace::preload {

// Set from a call of dlopen until this thread's next recorded call, which counts the libraries.
extern "C" {
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden")]] extern thread_local constinit char tailrace_has_loaded;
}

// Counts the libraries that are loaded now, and stores the count in the log. Returns what was added since the last count.
trace::LoaderCounts count_loads();

// Stores the count when the process's log begins.
void begin_loads();

// The last loaded library, taken by the parent before fork; the child passes it to begin_loads_of_child(), and its log begins with
// the libraries up to it.
const link_map* loads_before_fork();
void begin_loads_of_child(const link_map* last);

}  // namespace tailrace::preload
