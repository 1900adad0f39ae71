// Reads directories by system calls, and walks the trees of a folder.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "preload/placing.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload {

// Calls visit(entry) for each entry of a directory but `.` and `..`. The entry's d_type is set. `descriptor`: the directory, which
// was not read before.
template <class Visit>
void each_entry(int64_t descriptor, Visit visit) {
    namespace raw = trace::raw;
    alignas(dirent64) char room[4096];
    for (;;) {
        const int64_t bytes = raw::call(SYS_getdents64, descriptor, raw::address(room), sizeof room);
        if (bytes <= 0) return;
        for (int64_t at = 0; at < bytes;) {
            auto* entry = reinterpret_cast<dirent64*>(room + at);
            at += entry->d_reclen;
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
            struct stat file;
            if (entry->d_type == DT_UNKNOWN &&
                raw::call(SYS_newfstatat, descriptor, raw::address(entry->d_name), raw::address(&file), AT_SYMLINK_NOFOLLOW) == 0)
                entry->d_type = static_cast<unsigned char>(IFTODT(file.st_mode));
            visit(*entry);
        }
    }
}

inline int64_t open_folder(int64_t directory, const char* path) {
    return trace::raw::call(SYS_openat, directory, trace::raw::address(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

// The path of a physical folder while its tree is walked; `logical` bytes of it are the folder whose tree it is.
struct WalkedPath {
    char text[placing::kRoom];
    uint32_t bytes, logical;
};

// Walks the tree of a logical folder (`descriptor`). Calls file(directory, entry) for each file that a rule places in the tree, and
// folder(directory, name) for each directory of the tree, after its contents. `directory` is the one that has the entry.
template <class File, class Folder>
void walk_tree(int64_t descriptor, WalkedPath& path, File file, Folder folder) {
    const place::Rules rules = placing::rules();
    each_entry(descriptor, [&](const dirent64& entry) {
        const auto name = static_cast<uint32_t>(strlen(entry.d_name));
        const bool is_inside = path.bytes > path.logical;
        if (entry.d_type != DT_DIR) {
            if (is_inside && rules.logical_folder(path.text, path.bytes, entry.d_name, name) == path.logical)
                file(descriptor, entry);
            return;
        }
        if (!is_inside && !place::is_tree_of(rules, path.text, path.bytes, entry.d_name, name)) return;
        if (path.bytes + name + 2 > sizeof path.text) return;
        const int64_t inner = open_folder(descriptor, entry.d_name);
        if (inner < 0) return;
        const uint32_t before = path.bytes;
        path.text[path.bytes++] = '/';
        memcpy(path.text + path.bytes, entry.d_name, name);
        path.bytes += name;
        walk_tree(inner, path, file, folder);
        path.bytes = before;
        trace::raw::call(SYS_close, inner);
        folder(descriptor, entry.d_name);
    });
}

}  // namespace tailrace::preload
