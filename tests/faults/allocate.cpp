// Preloaded into a test program, it makes one request for memory fail that the library makes: within a call of it, or in another
// thread than the first.
//
//   fault_arm(BELOW, N, ONCE, CODE)  the Nth such `new` from now on throws bad_alloc; BELOW, ONCE and CODE mean nothing
//   fault_disarm()                   ends it; "" if there was no Nth one, else "new"
//
// With COUNT_ALLOCATIONS set to a file, each disarming writes there how many there were.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

thread_local int within = syscall(SYS_gettid) != getpid();
int at;
std::atomic<int> seen;
std::atomic<bool> armed, fired;

struct Within {
    Within() { ++within; }
    ~Within() { --within; }
};

template <class Function>
Function *real(const char *name) {
    void *symbol = dlsym(RTLD_NEXT, name);
    Function *function = nullptr;
    std::memcpy(&function, &symbol, sizeof function);
    if (function == nullptr) std::abort();
    return function;
}

}  // namespace

void *operator new(size_t bytes) {
    if (armed && within > 0 && ++seen == at) {
        fired = true;
        throw std::bad_alloc();
    }
    if (void *memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

extern "C" {

void fault_arm(const char *, int number, int, int) {
    at = number;
    seen = 0;
    fired = false;
    armed = true;
}

const char *fault_disarm(void) {
    armed = false;
    if (const char *path = std::getenv("COUNT_ALLOCATIONS"))
        if (FILE *file = std::fopen(path, "a")) {
            std::fprintf(file, "%d\n", seen.load());
            std::fclose(file);
        }
    return fired ? "new" : "";
}

// Whatever the arguments are, of whichever MPI: they are as many words at most, in registers.
using Word = void *;
#define WITHIN(name)                                                          \
    int name(Word a, Word b, Word c, Word d, Word e) {                        \
        const Within here;                                                    \
        return real<int(Word, Word, Word, Word, Word)>(#name)(a, b, c, d, e); \
    }
WITHIN(tailrace_open)
WITHIN(tailrace_end_step)
WITHIN(tailrace_flush)
WITHIN(tailrace_close)
WITHIN(tailrace_set_aside)
WITHIN(tailrace_release)
WITHIN(tailrace_open_read)
WITHIN(tailrace_select_step)
WITHIN(tailrace_get)
WITHIN(tailrace_get_shared)
WITHIN(tailrace_close_read)

}  // extern "C"
