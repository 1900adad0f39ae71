// The states of the drain, from the table states.def, and their announcement.
#pragma once

#include <cstdint>

namespace tailrace {

enum class DrainState : uint8_t {
#define TAILRACE_DRAIN_STATE(name, is_true, after_death) name,
#include "stage/states.def"
#undef TAILRACE_DRAIN_STATE
};

const char* state_name(DrainState state);

// Announces that a file or a shipment has reached the state. Calls `tailrace_drain_state(name)` if a preloaded library defines this
// function: tests stop or disturb the drain there.
void reach(DrainState state);

}  // namespace tailrace
