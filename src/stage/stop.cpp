#include "stage/stop.hpp"

#include <signal.h>
#include <string.h>

#include "base/error.hpp"

namespace tailrace {
namespace {

volatile sig_atomic_t stopped_by = 0;  // the number of the first signal

void note_signal(int number) {
    if (stopped_by == 0) stopped_by = number;
}

}  // namespace

void stop_on_signals() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action{};
        if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        action.sa_handler = note_signal;
        action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
        ::sigaction(number, &action, nullptr);
    }
}

bool is_stop_requested() { return stopped_by != 0; }

void throw_if_stopped() {
    if (is_stop_requested()) fail(Status::STOPPED, "ended by SIG", ::sigabbrev_np(stopped_by), " before all files were delivered");
}

}  // namespace tailrace
