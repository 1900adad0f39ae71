// What the loader has read of programs and libraries, kept in the log while the process lives: a killed process has it, too.
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

// The count when the process's log begins.
void begin_loads();

// Called by the parent before fork, and with its result by the child, whose log begins with that count.
const link_map* loads_before_fork();
void begin_loads_of_child(const link_map* last);

}  // namespace tailrace::preload
