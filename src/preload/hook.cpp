#include "preload/hook.hpp"

namespace tailrace::preload {

extern "C" {
thread_local constinit uint16_t tailrace_within = 0;
}

void* find_next(const char* symbol) {
    const int code = errno;
    void* function = dlsym(RTLD_NEXT, symbol);
    // Names that glibc keeps for old programs alone are found only with their version.
    if (function == nullptr) function = dlvsym(RTLD_NEXT, symbol, "GLIBC_2.2.5");
    errno = code;
    return function;
}

}  // namespace tailrace::preload
