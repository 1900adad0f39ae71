// The heartbeat: a small file beside the journal whose modification time a writer renews while its process runs. It also works on
// file systems without locks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/own_descriptor.hpp"
#include "record/writer.hpp"

namespace tailrace {

// A run that has not renewed its heartbeat for so many seconds is considered dead.
constexpr int64_t kHeartbeatValidS = 120;

// Renews its file every 20 s, in one thread of the process, until it is destroyed. Then it removes the file, unless the path names
// the heartbeat of another run.
class Heartbeat {
public:
    Heartbeat(std::string path, const Writer& writer);
    Heartbeat(const Heartbeat&) = delete;
    ~Heartbeat();

    void renew() const noexcept;

private:
    const std::string path_;
    OwnDescriptor file_;
};

struct FoundHeartbeat {
    Writer writer;
    int64_t renewed_ns = 0;  // by the clock of the file system
};
// Reads a heartbeat. Nothing if the file is missing or cannot be read.
std::optional<FoundHeartbeat> find_heartbeat(const std::string& path);

}  // namespace tailrace
