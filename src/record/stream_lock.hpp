// The lock of a stream: at most one run or command writes it. Where the file system has no locks, or they do not reach other nodes,
// the heartbeat of the other run says whether it lives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_lock.hpp"
#include "record/heartbeat.hpp"
#include "record/writer.hpp"

namespace tailrace {

// Local, on the one process that opens a stream for writing: rank 0, or a command.
class StreamLock {
public:
    // Takes the lock. Ranks of a run that was just killed live on for a second, so it tries for up to 10 s. Throws IN_USE, naming
    // the other run, while the lock or a heartbeat younger than two minutes says that it lives; not with `takes_over`. `nodes`: of
    // this run.
    StreamLock(const std::string& directory, const std::string& stream, bool takes_over, uint64_t nodes = 1);
    StreamLock(const StreamLock&) = delete;
    ~StreamLock() { release(); }

    const Writer& writer() const { return writer_; }  // this process
    // Whether no process of an earlier run can be alive.
    bool proves_end_of(const Writer& earlier) const;
    // The lock or a heartbeat said that another run lives, and this one takes over all the same.
    bool overrode() const { return state_ == State::overrode; }
    // Why the lock protects less than it should; empty where it does not.
    const std::string& note() const { return note_; }
    void release() noexcept;

private:
    enum class State { no_locks, overrode, held, held_by_all };

    bool try_take();
    void take(bool takes_over);
    void check_heartbeat(bool takes_over);
    [[noreturn]] void refuse(const std::optional<FoundHeartbeat>& other) const;

    const std::string directory_, stream_, path_;
    const Writer writer_;
    State state_ = State::no_locks;
    std::string note_;
    ByteLock lock_;
    std::unique_ptr<Heartbeat> heartbeat_;
};

// Local, on each rank that writes into files which later runs append to: while it lives, no other run takes the lock. Errors are
// passed over: rank 0 has the lock.
class WritingRank {
public:
    WritingRank() = default;
    WritingRank(const std::string& directory, const std::string& stream);

private:
    ByteLock lock_;
};

// The run or command that writes a stream now, for those that only read it. Nothing where none is known.
std::optional<Writer> living_writer(const std::string& directory, const std::string& stream);

}  // namespace tailrace
