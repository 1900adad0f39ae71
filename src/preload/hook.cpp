#include "preload/hook.hpp"

namespace tailrace::preload {

extern "C" {
thread_local constinit uint16_t tailrace_within = 0;
}

void* find_next(NextDefinition& definition) {
    const int code = errno;
    void* function = dlsym(RTLD_NEXT, definition.symbol);
    // Symbols that glibc keeps only for old programs are found only with their version.
    if (function == nullptr) function = dlvsym(RTLD_NEXT, definition.symbol, "GLIBC_2.2.5");
    definition.function.store(function, std::memory_order_relaxed);
    errno = code;
    return function;
}

// The linker defines these names for the two ends of the section.
extern "C" {
[[gnu::visibility("hidden")]] extern NextDefinition __start_tailrace_next[], __stop_tailrace_next[];
}

namespace {

[[gnu::constructor(101)]] void find_all() {
    for (NextDefinition* definition = __start_tailrace_next; definition != __stop_tailrace_next; ++definition)
        if (definition->function.load(std::memory_order_relaxed) == nullptr) find_next(*definition);
}

}  // namespace

}  // namespace tailrace::preload
