#include "stage/leases.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>

namespace tailrace {
namespace {

// The signal for broken leases. With F_SETSIG it has the file descriptor. If too many signals are queued, SIGIO comes instead.
int lease_signal() { return SIGRTMIN + 1; }
int end_signal() { return SIGRTMIN + 2; }

sigset_t signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, lease_signal());
    sigaddset(&set, end_signal());
    sigaddset(&set, SIGIO);
    return set;
}

// Whether the file system refuses a lease on a file with a writable mapping. Overlayfs grants such a lease (measured).
bool lease_is_trusted(int descriptor) {
    constexpr long kExt = 0xEF53, kXfs = 0x58465342, kTmpfs = 0x01021994;
    struct statfs system;
    if (::fstatfs(descriptor, &system) != 0) return false;
    const long type = static_cast<long>(system.f_type);
    return type == kExt || type == kXfs || type == kTmpfs;
}

}  // namespace

Leases::Leases() {
    const sigset_t set = signals();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    watcher_ = std::thread([this] { watch(); });
}

Leases::~Leases() {
    ::pthread_kill(watcher_.native_handle(), end_signal());
    watcher_.join();
}

LeaseAnswer Leases::take(int descriptor) {
    if (!lease_is_trusted(descriptor)) return LeaseAnswer::not_supported;
    const std::lock_guard lock(mutex_);
    if (::fcntl(descriptor, F_SETSIG, lease_signal()) != 0) return LeaseAnswer::not_supported;
    if (::fcntl(descriptor, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN ? LeaseAnswer::busy : LeaseAnswer::not_supported;
    const auto at = static_cast<size_t>(descriptor);
    if (states_.size() <= at) states_.resize(at + 1);
    states_[at] = State::held;
    return LeaseAnswer::granted;
}

bool Leases::is_held(int descriptor) {
    const std::lock_guard lock(mutex_);
    const auto at = static_cast<size_t>(descriptor);
    return at < states_.size() && states_[at] == State::held && ::fcntl(descriptor, F_GETLEASE) == F_RDLCK;
}

void Leases::give_up(int descriptor) {
    const std::lock_guard lock(mutex_);
    const auto at = static_cast<size_t>(descriptor);
    if (at >= states_.size() || states_[at] == State::none) return;
    if (states_[at] == State::held) ::fcntl(descriptor, F_SETLEASE, F_UNLCK);
    states_[at] = State::none;
}

void Leases::break_one(size_t descriptor) {
    if (descriptor >= states_.size() || states_[descriptor] != State::held) return;
    if (::fcntl(static_cast<int>(descriptor), F_GETLEASE) == F_RDLCK) return;  // the signal was for an earlier file
    states_[descriptor] = State::broken;
    ::fcntl(static_cast<int>(descriptor), F_SETLEASE, F_UNLCK);
}

void Leases::watch() {
    const sigset_t set = signals();
    while (true) {
        siginfo_t info;
        const int got = ::sigwaitinfo(&set, &info);
        if (got == end_signal()) return;
        if (got < 0) continue;
        const std::lock_guard lock(mutex_);
        if (got == lease_signal() && info.si_fd >= 0)
            break_one(static_cast<size_t>(info.si_fd));
        else
            for (size_t descriptor = 0; descriptor < states_.size(); ++descriptor) break_one(descriptor);
    }
}

}  // namespace tailrace
