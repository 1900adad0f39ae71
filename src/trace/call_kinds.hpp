// The kind of each call, by the call's number. Internal to src/trace.
#pragma once

#include <cstdint>

#include "trace/format.hpp"

namespace tailrace::trace {

enum class Direction : uint8_t { none, read, write };

enum class Role : uint8_t {
    none,
    marks_phase,
    process,     // makes or replaces a process (fork, exec), or makes it an MPI rank
    renames,     // renames a file
    closes,      // closes a file
    collective,  // a collective call of MPI
};

struct CallKind {
    Direction direction;
    Role role;
};

// Whether the call is always recorded as an event: never merged, and also when the byte budget of the log is spent.
inline bool is_kept(const CallKind& kind) {
    return kind.role == Role::marks_phase || kind.role == Role::process || kind.role == Role::renames;
}

constexpr uint16_t kCallNumbers = 1024;  // the numbers in calls.def are less than this

const CallKind& kind_of(uint16_t call);

}  // namespace tailrace::trace
