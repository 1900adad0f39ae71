#include "preload/loader.hpp"

#include <link.h>

#include "preload/hook.hpp"

// Hooks of dlopen that keep its return address, because dlopen finds its caller, and the caller's search paths, by it. So these
// hooks jump to dlopen and cannot act after it; the thread's next recorded call counts the libraries.
#define KEEPS_CALLER(symbol)                     \
    asm(".text\n"                                \
        ".globl " #symbol                        \
        "\n"                                     \
        ".type " #symbol ", @function\n" #symbol \
        ":\n"                                    \
        "    endbr64\n"                          \
        "    pushq %rdi\n"                       \
        "    pushq %rsi\n"                       \
        "    pushq %rdx\n"                       \
        "    call tailrace_before_" #symbol      \
        "\n"                                     \
        "    popq %rdx\n"                        \
        "    popq %rsi\n"                        \
        "    popq %rdi\n"                        \
        "    jmp *%rax\n"                        \
        "    .size " #symbol ", .-" #symbol "\n")
KEEPS_CALLER(dlopen);
KEEPS_CALLER(dlmopen);

namespace tailrace::preload {

extern "C" {
thread_local constinit char tailrace_has_loaded = 0;

void* hook_dlopen(const char* name, int flags) asm("dlopen");
void* hook_dlmopen(Lmid_t space, const char* name, int flags) asm("dlmopen");

// The next two functions return the definition to jump to.
[[gnu::visibility("hidden"), gnu::used]] void* tailrace_before_dlopen() {
    tailrace_has_loaded = 1;
    return reinterpret_cast<void*>(NEXT(dlopen));
}
[[gnu::visibility("hidden"), gnu::used]] void* tailrace_before_dlmopen() {
    tailrace_has_loaded = 1;
    return reinterpret_cast<void*>(NEXT(dlmopen));
}
}

namespace {

// The loader reads the first 832 bytes of each object and maps the rest. If the program headers are behind these bytes, the loader
// reads them as well, twice: when it searches the object and when it maps it.
constexpr uint64_t kObjectBytes = 832;

struct Loaded {
    uint64_t objects;            // loaded since the beginning, unloaded ones included
    trace::LoaderCounts tables;  // of those that are loaded now
    const link_map* last_object;
};

constinit std::atomic<uint64_t> objects_before = 0, table_bytes_before = 0, table_calls_before = 0;  // at the last count
constinit std::atomic<uint64_t> total_bytes = 0, total_calls = 0;
// In a child of fork that has loaded nothing yet: the last object in its parent.
constinit std::atomic<const link_map*> last_before_fork = nullptr;

const link_map* last_object() {
    const link_map* last = _r_debug.r_map;
    while (last != nullptr && last->l_next != nullptr) last = last->l_next;
    return last;
}

Loaded loaded_now() {
    Loaded loaded = {};
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* to) {
            auto& all = *static_cast<Loaded*>(to);
            const uint64_t bytes = object->dlpi_phnum * sizeof(ElfW(Phdr));
            const bool apart = reinterpret_cast<uint64_t>(object->dlpi_phdr) - object->dlpi_addr + bytes > kObjectBytes;
            all.tables.read_bytes += apart ? 2 * bytes : 0;
            all.tables.read_calls += apart ? 2 : 0;
            all.objects = object->dlpi_adds;
            if (all.last_object == nullptr) all.last_object = last_object();  // here, because the list is locked
            return 0;
        },
        &loaded);
    return loaded;
}

uint64_t growth(std::atomic<uint64_t>& before, uint64_t now) {
    const uint64_t last = before.exchange(now);
    return now > last ? now - last : 0;  // less where an object was unloaded
}

trace::LoaderCounts totals() { return {total_bytes, total_calls}; }

trace::LoaderCounts add_growth(const Loaded& now) {
    const uint64_t objects = growth(objects_before, now.objects);
    const trace::LoaderCounts added = {objects * kObjectBytes + growth(table_bytes_before, now.tables.read_bytes),
                                       objects + growth(table_calls_before, now.tables.read_calls)};
    total_bytes += added.read_bytes;
    total_calls += added.read_calls;
    return added;
}

}  // namespace

// In a child of fork, counts only after the child has loaded an object. At fork another thread may have held the lock that
// dl_iterate_phdr takes, and the child would wait for ever; a child that has loaded an object has had this lock.
trace::LoaderCounts count_loads() {
    tailrace_has_loaded = 0;
    if (const link_map* last = last_before_fork; last != nullptr) {
        if (last == last_object()) return {};
        last_before_fork = nullptr;
    }
    const int code = errno;
    const trace::LoaderCounts added = add_growth(loaded_now());
    trace::set_loader_at_end(totals());
    errno = code;
    return added;
}

void begin_loads() {
    count_loads();
    trace::set_loader_at_begin(totals());
}

const link_map* loads_before_fork() {
    if (last_before_fork != nullptr) {
        count_loads();
        if (const link_map* last = last_before_fork) return last;
    }
    const Loaded now = loaded_now();
    add_growth(now);
    return now.last_object;
}

void begin_loads_of_child(const link_map* last) {
    last_before_fork = last;
    trace::set_loader_at_begin(totals());
    trace::set_loader_at_end(totals());
}

}  // namespace tailrace::preload
