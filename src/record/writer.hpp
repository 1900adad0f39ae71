// Who writes a stream: job, node and process. Recorded in its heartbeat and in each segment of its journal, so that a run that is
// refused or overtaken can name the other one.
#pragma once

#include <cstdint>
#include <string>

#include "base/journal.hpp"

namespace tailrace {

struct Writer {
    std::string host, boot;  // boot: the kernel's boot id, which is new at each start of the node
    uint64_t process = 0, nodes = 1;
    std::string job, user;  // empty: not known
    int64_t since_s = 0;    // seconds since 1970
    std::string version;    // of the library

    // This process, for a run on so many nodes.
    static Writer of_this_process(uint64_t nodes);
    static Writer of_json(const Json& json);  // ignores keys that are missing or have another type
    Json json() const;

    bool is_on_same_node(const Writer& other) const { return host == other.host && boot == other.boot; }
    bool is_same_process(const Writer& other) const { return is_on_same_node(other) && process == other.process; }
    // "job 4711 on node12 (process 815, since 10:31)"
    std::string text() const;
};

}  // namespace tailrace
