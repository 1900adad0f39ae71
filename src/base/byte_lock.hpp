// Locks on single bytes of a file, each held until its file is closed: by this process, and not by its children.
#pragma once

#include <cstdint>
#include <string>

#include "base/own_descriptor.hpp"

namespace tailrace {

enum class LockKind { shared, exclusive };
enum class LockAnswer { taken, busy, not_supported };

// RATIONALE: open file description locks. Two handles in one process conflict as two processes do, and closing another descriptor
// of the file does not release them; both is otherwise with fcntl's older locks.
class ByteLock {
public:
    ByteLock() = default;
    enum class File { made, existing, looked_at };
    ByteLock(const std::string& path, File file);

    LockAnswer try_take(uint64_t byte, LockKind kind);
    // What try_take() would answer for an exclusive lock; takes nothing. The file may be one that this process can only read.
    LockAnswer look(uint64_t byte) const;
    bool is_open() const { return file_.is_open(); }
    bool is_at(const std::string& path) const { return file_.is_at(path); }
    // Sets the file's time to now, and returns it: now by the clock of the file system, in nanoseconds.
    int64_t file_system_now_ns() const;
    void close() noexcept { file_.close(); }

private:
    std::string path_;
    OwnDescriptor file_;
};

// Which processes a lock on a file in this directory excludes.
enum class LockReach { this_node, all_nodes };
LockReach lock_reach(const std::string& directory);
// The same of a file system's type and its mount options, separated by commas.
LockReach lock_reach_of(const std::string& type, const std::string& options);

}  // namespace tailrace
