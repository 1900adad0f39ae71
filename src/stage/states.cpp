#include "stage/states.hpp"

#include <dlfcn.h>

namespace tailrace {
namespace {

using Listener = void (*)(const char* state);

}  // namespace

const char* state_name(DrainState state) {
    static constexpr const char* kNames[] = {
#define TAILRACE_DRAIN_STATE(name, is_true, after_death) #name,
#include "stage/states.def"
#undef TAILRACE_DRAIN_STATE
    };
    return kNames[static_cast<uint8_t>(state)];
}

void reach(DrainState state) {
    static const auto listener = reinterpret_cast<Listener>(::dlsym(RTLD_DEFAULT, "tailrace_drain_state"));
    if (listener != nullptr) listener(state_name(state));
}

}  // namespace tailrace
