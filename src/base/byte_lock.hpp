// Locks on single bytes of a file. This process holds them until it closes the file; its child processes do not inherit them.
#pragma once

#include <cstdint>
#include <string>

#include "base/own_descriptor.hpp"

namespace tailrace {

enum class LockKind { shared, exclusive };
enum class LockAnswer { taken, busy, not_supported };

// A file whose bytes can be locked, by open file description locks. RATIONALE: with fcntl's older locks, two handles in one process
// do not conflict, and closing any descriptor of the file releases all of its locks.
class ByteLock {
public:
    ByteLock() = default;
    enum class File { made, existing, looked_at };  // created if absent; must exist; must exist and is opened read-only
    ByteLock(const std::string& path, File file);

    LockAnswer try_take(uint64_t byte, LockKind kind);
    // Returns what try_take() would return for an exclusive lock, without taking it. Works on a file that is open read-only.
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
// The reach of locks on a file system of this type; `options`: its mount options, separated by commas.
LockReach lock_reach_of(const std::string& type, const std::string& options);

}  // namespace tailrace
