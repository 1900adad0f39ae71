#include "preload/child_environment.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "environment/variables.hpp"
#include "preload/hook.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {
namespace {

namespace raw = trace::raw;

constexpr size_t kPathBytes = 4096, kMostEntries = 1u << 14;
constexpr char kPreload[] = "LD_PRELOAD=";
constexpr size_t kPreloadName = sizeof kPreload - 1;
constexpr const char* kVariables[] = {variable::TRACE,    variable::TRACE_BYTES, variable::TRACE_SHARE,
                                      variable::BARRIERS, variable::PLACE,       variable::TRACE_FOLLOW};

// The tracer's variables when this process began; the process may remove them from its environment later.
constinit char own[sizeof kVariables / sizeof *kVariables][kPathBytes + 64] = {};  // NAME=VALUE; empty where there is none
constinit char library[kPathBytes] = "";
constinit char loader[kPathBytes] = "";  // of this program: the loader of programs that can load the tracer
constinit bool follows = false;
char* const no_entries[] = {nullptr};  // a null pointer is an environment without entries, for the kernel, too

const char* last_part(const char* path) {
    const char* slash = strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

bool is_name(const char* entry, const char* name) {
    const size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

// What a program does with a library in LD_PRELOAD; `absent`: there is no such program.
enum class Kind { absent, loads, ignores, refuses };

// The first bytes of a program file, which contain its program headers and the name of its loader.
struct Beginning {
    char bytes[2048];
    uint64_t size = 0;

    // Returns 0 or an errno.
    int64_t read(const char* path) {
        const int64_t descriptor = raw::open_to_read(path);
        if (descriptor < 0) return -descriptor;
        const int64_t now = raw::call(SYS_pread64, descriptor, raw::address(bytes), sizeof bytes - 1, 0);
        raw::call(SYS_close, descriptor);
        size = now > 0 ? static_cast<uint64_t>(now) : 0;
        bytes[size] = '\0';
        // In a child of vfork the kernel counts this read for the child, not for this log.
        trace::KernelCounts own_reads = {};
        own_reads.read_bytes = size;
        own_reads.read_calls = 1;
        if (!tailrace_silent) trace::add_own_reads(own_reads);
        return 0;
    }
    bool has(uint64_t at, uint64_t length) const { return at <= size && length <= size - at; }
};

Kind kind_of_elf(const Beginning& program) {
    Elf64_Ehdr header;
    if (!program.has(0, sizeof header) || program.bytes[EI_CLASS] != ELFCLASS64) return Kind::refuses;
    memcpy(&header, program.bytes, sizeof header);
    if (header.e_machine != EM_X86_64) return Kind::refuses;
    for (uint64_t k = 0; k < header.e_phnum; ++k) {
        Elf64_Phdr segment;
        const uint64_t at = header.e_phoff + k * sizeof segment;
        if (!program.has(at, sizeof segment)) return Kind::loads;  // the header is further behind: mostly dynamic
        memcpy(&segment, program.bytes + at, sizeof segment);
        if (segment.p_type != PT_INTERP) continue;
        if (!program.has(segment.p_offset, segment.p_filesz)) return Kind::loads;
        return strcmp(last_part(program.bytes + segment.p_offset), last_part(loader)) == 0 ? Kind::loads : Kind::refuses;
    }
    return Kind::ignores;  // static: its children may load the library
}

// The kind of a program; for a script, that of its interpreter.
Kind kind_of(const char* path) {
    constexpr int kMostInterpreters = 4;
    char interpreter[256];
    for (int depth = 0; depth < kMostInterpreters; ++depth) {
        Beginning program;
        const int64_t error = program.read(path);
        if (error == ENOENT || error == ENOTDIR) return Kind::absent;
        if (error != 0) return Kind::loads;  // the file may be executable without being readable
        if (program.has(0, SELFMAG) && memcmp(program.bytes, ELFMAG, SELFMAG) == 0) return kind_of_elf(program);
        if (!program.has(0, 2) || program.bytes[0] != '#' || program.bytes[1] != '!') return Kind::loads;
        const char* begin = program.bytes + 2 + strspn(program.bytes + 2, " \t");
        const size_t length = strcspn(begin, " \t\n");
        if (length >= sizeof interpreter) return Kind::loads;
        memcpy(interpreter, begin, length);
        interpreter[length] = '\0';
        path = interpreter;
    }
    return Kind::loads;
}

Kind kind_of(const char* program, Search search) {
    if (program == nullptr) return Kind::loads;
    const char* folders = search == Search::in_path && strchr(program, '/') == nullptr ? getenv("PATH") : nullptr;
    if (folders == nullptr) return kind_of(program);
    char path[kPathBytes];
    for (const char* at = folders;; ++at) {
        const size_t length = strcspn(at, ":");
        if (length + strlen(program) + 2 <= sizeof path) {
            memcpy(path, at, length);
            path[length] = '/';
            memcpy(path + length + (length > 0 ? 1 : 0), program, strlen(program) + 1);
            if (const Kind kind = kind_of(path); kind != Kind::absent) return kind;
        }
        at += length;
        if (*at == '\0') return Kind::absent;
    }
}

// Writes the names in LD_PRELOAD except the tracer's own, each after a space. `to` may be null. Returns the number of bytes.
size_t put_others(const char* names, char* to) {
    size_t bytes = 0;
    for (const char* at = names; *at != '\0';) {
        const size_t length = strcspn(at, " :");
        const bool is_own = length == strlen(library) && strncmp(at, library, length) == 0;
        if (length > 0 && !is_own) {
            if (to != nullptr) {
                to[bytes] = ' ';
                memcpy(to + bytes + 1, at, length);
            }
            bytes += length + 1;
        }
        at += length + (at[length] == '\0' ? 0 : 1);
    }
    return bytes;
}

// Writes the LD_PRELOAD entry for the program; empty if it needs none. Returns the number of bytes, including the zero byte.
size_t put_preload(const char* names, bool takes_library, char* to) {
    const size_t others = put_others(names, nullptr);
    if (!takes_library && others == 0) {
        if (to != nullptr) *to = '\0';
        return 1;
    }
    const size_t of_library = takes_library ? strlen(library) : 0;
    if (to != nullptr) {
        memcpy(to, kPreload, kPreloadName);
        memcpy(to + kPreloadName, library, of_library);
        to[kPreloadName + of_library + put_others(names, to + kPreloadName + of_library)] = '\0';
    }
    return kPreloadName + of_library + others + 1;
}

const char* preload_of(char* const* entries) {
    for (; *entries != nullptr; ++entries)
        if (strncmp(*entries, kPreload, kPreloadName) == 0) return *entries + kPreloadName;
    return "";
}

bool has_own(char* const* entries, const char* wanted) {
    for (; *entries != nullptr; ++entries)
        if (strcmp(*entries, wanted) == 0) return true;
    return false;
}

}  // namespace

[[gnu::constructor(101)]] static void remember() {
    const char* choice = getenv(variable::TRACE_FOLLOW);
    if ((getenv(variable::TRACE) == nullptr && getenv(variable::PLACE) == nullptr) ||
        (choice != nullptr && strcmp(choice, "off") == 0))
        return;
    Dl_info here;
    if (dladdr(reinterpret_cast<void*>(&remember), &here) == 0 || strlen(here.dli_fname) >= sizeof library) return;
    raw::put_text(library, here.dli_fname, sizeof library);
    if (const auto base = getauxval(AT_BASE); base != 0 && dladdr(reinterpret_cast<void*>(base), &here) != 0)
        raw::put_text(loader, here.dli_fname, sizeof loader);
    for (size_t v = 0; v < sizeof kVariables / sizeof *kVariables; ++v) {
        const char* value = getenv(kVariables[v]);
        if (value == nullptr) continue;
        if (strlen(kVariables[v]) + strlen(value) + 2 > sizeof own[v]) return;
        const uint64_t name = raw::put_text(own[v], kVariables[v], sizeof own[v]);
        own[v][name] = '=';
        raw::put_text(own[v] + name + 1, value, sizeof own[v] - name - 1);
    }
    follows = *loader != '\0';
}

ChildEnvironment::ChildEnvironment(const char* program, Search search, char* const* given)
    : given_(given == nullptr ? no_entries : given) {
    if (!follows) return;
    given = given_;
    while (given[count_] != nullptr) ++count_;
    if (count_ > kMostEntries) return;
    takes_library_ = kind_of(program, search) != Kind::refuses;
    const char* names = preload_of(given);
    preload_bytes_ = put_preload(names, takes_library_, nullptr);
    char wanted[preload_bytes_];
    put_preload(names, takes_library_, wanted);
    is_unchanged_ = strcmp(*wanted == '\0' ? "" : wanted + kPreloadName, names) == 0;
    for (const char* entry : own)
        if (*entry != '\0' && !has_own(given, entry)) is_unchanged_ = false;
}

void ChildEnvironment::fill(char** entries, char* preload) const {
    put_preload(preload_of(given_), takes_library_, preload);
    size_t count = 0;
    if (*preload != '\0') entries[count++] = preload;
    for (char* entry : own)
        if (*entry != '\0') entries[count++] = entry;
    for (char* const* entry = given_; *entry != nullptr; ++entry) {
        bool is_own = strncmp(*entry, kPreload, kPreloadName) == 0;
        for (size_t v = 0; v < sizeof kVariables / sizeof *kVariables; ++v)
            is_own = is_own || (*own[v] != '\0' && is_name(*entry, kVariables[v]));
        if (!is_own) entries[count++] = *entry;
    }
    entries[count] = nullptr;
}

}  // namespace tailrace::preload
