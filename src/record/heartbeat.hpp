// The sign that a stream's writer lives: a small file beside the journal whose time is renewed. It also works where locks do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/own_descriptor.hpp"
#include "record/writer.hpp"

namespace tailrace {

// A run that has not renewed its heartbeat for so long is taken to be dead.
constexpr int64_t kHeartbeatValidS = 120;

// Renews its file every 20 s, in one thread of the process, until it is destroyed. Then the file is removed, unless another run
// has its place.
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
// Nothing where there is no heartbeat, or where it cannot be read.
std::optional<FoundHeartbeat> find_heartbeat(const std::string& path);

}  // namespace tailrace
