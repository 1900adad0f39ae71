#include "preload/files.hpp"

#include <string.h>

#include <atomic>

#include "preload/working_folder.hpp"
#include "trace/log.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {
namespace {

namespace raw = trace::raw;

constexpr unsigned kDescriptors = 1u << 16;  // size of the table; for higher descriptors the kernel is asked at each call
constexpr uint64_t kNameBytes = 4096 + 256;
constinit std::atomic<void*> table = nullptr;  // empty again in a child, whose log needs the names, too

std::atomic<uint64_t>* place_of(unsigned descriptor) {
    if (descriptor >= kDescriptors) return nullptr;
    auto* all = static_cast<std::atomic<uint64_t>*>(trace::process_memory(table, kDescriptors * sizeof(uint64_t)));
    return all == nullptr ? nullptr : all + descriptor;
}

// Writes the kernel's name of a descriptor's file: a path, or a text such as socket:[42]. Returns its length in bytes; 0: no name.
uint64_t name_of(int descriptor, char* to) {
    char link[48] = "/proc/self/fd/";
    raw::put_number(link + strlen(link), static_cast<unsigned>(descriptor));
    const int64_t bytes = raw::call(SYS_readlinkat, AT_FDCWD, raw::address(link), raw::address(to), kNameBytes - 1);
    return bytes < 0 ? 0 : static_cast<uint64_t>(bytes);
}

// Removes double slashes and `.`. Keeps `..`, whose meaning depends on symbolic links.
uint64_t shorten(char* name, uint64_t bytes) {
    uint64_t to = 0;
    for (uint64_t from = 0; from < bytes; ++from) {
        const bool after_slash = to > 0 && name[to - 1] == '/';
        if (after_slash && name[from] == '/') continue;
        if (after_slash && name[from] == '.' && (from + 1 == bytes || name[from + 1] == '/')) {
            ++from;
            continue;
        }
        name[to++] = name[from];
    }
    return to > 1 && name[to - 1] == '/' ? to - 1 : to;
}

}  // namespace

uint64_t file_id(int descriptor) {
    if (const auto* place = place_of(static_cast<unsigned>(descriptor)))
        if (const uint64_t known = place->load(std::memory_order_relaxed)) return known;
    char name[kNameBytes];
    const uint64_t bytes = name_of(descriptor, name);
    const uint64_t file = bytes == 0 ? 0 : trace::name_id(name, bytes);
    fd_table::set(descriptor, file);
    return file;
}

uint64_t file_id(const char* path, int directory) {
    if (path == nullptr) return 0;
    if (*path == '\0') return directory == AT_FDCWD ? 0 : file_id(directory);  // AT_EMPTY_PATH
    char name[kNameBytes];
    uint64_t at = 0;
    if (*path != '/') {
        if (directory == AT_FDCWD) {
            at = working_folder::put(name, kNameBytes / 2);
        } else {
            at = name_of(directory, name);
        }
        name[at++] = '/';
    }
    const uint64_t bytes = strnlen(path, kNameBytes - at);
    memcpy(name + at, path, bytes);
    return trace::name_id(name, shorten(name, at + bytes));
}

namespace fd_table {

void set(int descriptor, uint64_t file) {
    if (auto* place = place_of(static_cast<unsigned>(descriptor))) place->store(file, std::memory_order_relaxed);
}

void clear(int descriptor) { set(descriptor, 0); }

void clear(unsigned first, unsigned last) {
    for (unsigned number = first; number <= last && place_of(number) != nullptr; ++number)
        place_of(number)->store(0, std::memory_order_relaxed);
}

void dup(int from, int to) { set(to, file_id(from)); }

}  // namespace fd_table

}  // namespace tailrace::preload
