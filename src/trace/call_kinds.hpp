// What kind of call the number of a call means. Internal to src/trace.
#pragma once

#include <cstdint>

#include "trace/format.hpp"

namespace tailrace::trace {

enum class Direction : uint8_t { none, read, write };

enum class Role : uint8_t {
    none,
    marks_phase,
    process,     // makes or replaces one, or makes it a rank
    renames,     // a file
    closes,      // a file
    collective,  // of MPI
};

struct CallKind {
    Direction direction;
    Role role;
};

// Whether the call is never merged, and is an event also when the budget is spent.
inline bool is_kept(const CallKind& kind) {
    return kind.role == Role::marks_phase || kind.role == Role::process || kind.role == Role::renames;
}

constexpr uint16_t kCallNumbers = 1024;  // of calls.def: less than this

const CallKind& kind_of(uint16_t call);

}  // namespace tailrace::trace
