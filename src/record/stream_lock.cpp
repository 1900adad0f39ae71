#include "record/stream_lock.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "layout/parts.hpp"

namespace tailrace {
namespace {

// Bytes of the lock file that are locked: by the run as a whole, and by its ranks that write into growing files.
constexpr uint64_t kRunByte = 0, kRanksByte = 1;

constexpr double kTryS = 10;
constexpr auto kPause = std::chrono::milliseconds(20);
constexpr int64_t kNs = 1'000'000'000;

std::string lock_path(const std::string& directory, const std::string& stream) {
    return directory + "/" + parts_directory(stream) + "/lock";
}
std::string heartbeat_path(const std::string& directory, const std::string& stream) {
    return directory + "/" + parts_directory(stream) + "/writer.json";
}

// Whether a free lock proves that the writer and all its ranks have ended: they would hold it, and it would reach this process.
bool has_ended(const Writer& writer, const std::string& directory, const std::string& stream) {
    const bool is_alone_here = writer.nodes == 1 && writer.is_on_same_node(Writer::of_this_process(1));
    if (!is_alone_here && lock_reach(directory) != LockReach::all_nodes) return false;
    try {
        const ByteLock lock(lock_path(directory, stream), ByteLock::File::looked_at);
        return lock.look(kRunByte) == LockAnswer::taken && lock.look(kRanksByte) == LockAnswer::taken;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

StreamLock::StreamLock(const std::string& directory, const std::string& stream, bool takes_over, uint64_t nodes)
    : directory_(directory), stream_(stream), path_(lock_path(directory, stream)), writer_(Writer::of_this_process(nodes)) {
    take(takes_over);
    check_heartbeat(takes_over);
    heartbeat_ = std::make_unique<Heartbeat>(heartbeat_path(directory, stream), writer_);
}

// Makes one attempt. A run that ends removes the lock file, so the locked file may have lost its name: then the lock is void.
bool StreamLock::try_take() {
    lock_ = ByteLock(path_, ByteLock::File::made);
    for (const uint64_t byte : {kRunByte, kRanksByte}) {
        const LockAnswer answer = lock_.try_take(byte, LockKind::exclusive);
        if (answer == LockAnswer::busy) return false;
        if (answer == LockAnswer::taken) continue;
        note_ =
            text("the file system of ", directory_, " has no locks: only a heartbeat says whether another run writes the stream");
        return true;
    }
    lock_.try_take(kRanksByte, LockKind::shared);
    if (!lock_.is_at(path_)) return false;
    const bool reaches_all = lock_reach(directory_) == LockReach::all_nodes;
    state_ = reaches_all ? State::held_by_all : State::held;
    if (!reaches_all)
        note_ = text("the locks of the file system of ", directory_,
                     " may not reach other nodes: a heartbeat says whether a run lives");
    return true;
}

void StreamLock::take(bool takes_over) {
    for (const double began_s = seconds_now(); !try_take();) {
        const auto other = find_heartbeat(heartbeat_path(directory_, stream_));
        if (takes_over) {
            state_ = State::overrode;
            return;
        }
        // Does not wait for a lock of this process itself: it is not released while this thread waits.
        if (seconds_now() - began_s > kTryS || (other && other->writer.is_same_process(writer_))) refuse(other);
        std::this_thread::sleep_for(kPause);
    }
}

void StreamLock::check_heartbeat(bool takes_over) {
    const auto other = find_heartbeat(heartbeat_path(directory_, stream_));
    if (!other || proves_end_of(other->writer)) return;
    if (lock_.file_system_now_ns() - other->renewed_ns > kHeartbeatValidS * kNs) return;
    if (!takes_over) refuse(other);
    state_ = State::overrode;
}

void StreamLock::refuse(const std::optional<FoundHeartbeat>& other) const {
    fail(Status::IN_USE, "stream '", stream_, "' in ", directory_, " is being written by ",
         other ? other->writer.text() : "another process", "; wait until it has ended. If it is dead, it is taken over after ",
         kHeartbeatValidS / 60, " minutes without a sign of life; to take over now: take_over = 'on', or --take-over of a command");
}

bool StreamLock::proves_end_of(const Writer& earlier) const {
    return state_ == State::held_by_all || (state_ == State::held && earlier.nodes == 1 && earlier.is_on_same_node(writer_));
}

void StreamLock::release() noexcept {
    heartbeat_.reset();
    // Removes the file before it is unlocked: a process that locks it later sees that the file has lost its name.
    if (state_ != State::overrode && lock_.is_at(path_)) ::unlink(path_.c_str());
    lock_.close();
    state_ = State::no_locks;
}

WritingRank::WritingRank(const std::string& directory, const std::string& stream) {
    try {
        lock_ = ByteLock(lock_path(directory, stream), ByteLock::File::existing);
        lock_.try_take(kRanksByte, LockKind::shared);
    } catch (const Error&) {
        lock_.close();
    }
}

std::optional<Writer> living_writer(const std::string& directory, const std::string& stream) {
    const auto found = find_heartbeat(heartbeat_path(directory, stream));
    if (!found || std::time(nullptr) - found->renewed_ns / kNs > kHeartbeatValidS || has_ended(found->writer, directory, stream))
        return std::nullopt;
    return found->writer;
}

}  // namespace tailrace
