// Ends a drain early on request of a signal: at the next file, or at the next bytes of a large one, the drain throws STOPPED.
#pragma once

namespace tailrace {

// Handles SIGINT, SIGTERM and SIGHUP, except for those that this process was started to ignore. A second signal of the same kind
// ends the process at once.
void stop_on_signals();
bool is_stop_requested();
void throw_if_stopped();  // throws STOPPED once a signal has come

}  // namespace tailrace
