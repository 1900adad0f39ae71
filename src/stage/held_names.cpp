#include "stage/held_names.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/system_error.hpp"
#include "stage/descriptor.hpp"

namespace tailrace {
namespace {

constexpr double kMostWaited_s = 1, kWaitAtOnce_s = 0.01;
constexpr std::chrono::microseconds kLook(20), kPause(2000);

uint64_t ns_of(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

}  // namespace

SharedNames names_lock_of(const std::string& state_path) {
    const std::string path = state_path + "/counts";
    const Descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    struct stat is;
    if (!file.is_open() && errno == ENOENT) return nullptr;
    if (!file.is_open() || ::fstat(file.get(), &is) != 0) fail_system("open", path, errno);
    if (is.st_size < static_cast<off_t>(sizeof(place::ScratchCounts))) return nullptr;
    void* const at = ::mmap(nullptr, sizeof(place::ScratchCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED) fail_system("map", path, errno);
    const std::shared_ptr<place::ScratchCounts> counts(static_cast<place::ScratchCounts*>(at),
                                                       [](place::ScratchCounts* of) { ::munmap(of, sizeof *of); });
    return {counts, &counts->names};
}

HeldNames::HeldNames(SharedNames lock) : lock_(std::move(lock)) {
    const double until_s = seconds_now() + kMostWaited_s;
    while (!hold()) {
        lock_->held_until_ns.store(0);
        if (seconds_now() >= until_s)
            fail(Status::IN_USE, "a call of the program that makes or removes a file has not ended for 1 s");
        std::this_thread::sleep_for(kPause);
    }
}

HeldNames::~HeldNames() { lock_->held_until_ns.store(0); }

// Gives up after a short time, so that processes wait for a moment only where one of them is in a long call.
bool HeldNames::hold() const {
    const double began_s = seconds_now();
    lock_->held_until_ns.store(ns_of(began_s + kHeld_s));
    while (lock_->changing.load() != 0) {
        if (seconds_now() >= began_s + kWaitAtOnce_s) return false;
        std::this_thread::sleep_for(kLook);
    }
    return true;
}

}  // namespace tailrace
