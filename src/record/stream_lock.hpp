// The lock of a stream: at most one run or command writes it. If the file system has no locks, or they do not reach other nodes,
// the heartbeat of the other run shows whether that run is alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_lock.hpp"
#include "record/heartbeat.hpp"
#include "record/writer.hpp"

namespace tailrace {

// Used by the one process that opens a stream for writing: rank 0, or a command. Local.
class StreamLock {
public:
    // Takes the lock. Tries for up to 10 s, since ranks of a run that was just killed may live for another second. Throws IN_USE,
    // naming the other run, if the lock is held or a heartbeat is younger than two minutes; not with `takes_over`. `nodes`: the
    // number of nodes of this run.
    StreamLock(const std::string& directory, const std::string& stream, bool takes_over, uint64_t nodes = 1);
    StreamLock(const StreamLock&) = delete;
    ~StreamLock() { release(); }

    const Writer& writer() const { return writer_; }  // this process
    // Whether no process of an earlier run can be alive.
    bool proves_end_of(const Writer& earlier) const;
    // Whether the lock or a heartbeat showed another run alive, and this run takes over all the same.
    bool overrode() const { return state_ == State::overrode; }
    // Why the lock does not protect fully; empty if it does.
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

// A shared lock of each rank that writes into files which later runs append to: while such a rank is alive, no other run gets the
// stream's lock. Local. Errors are ignored, because rank 0 has the lock.
class WritingRank {
public:
    WritingRank() = default;
    WritingRank(const std::string& directory, const std::string& stream);

private:
    ByteLock lock_;
};

// The run or command that writes a stream now, for commands that only read. Nothing if none is known.
std::optional<Writer> living_writer(const std::string& directory, const std::string& stream);

}  // namespace tailrace
