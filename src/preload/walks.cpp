#include "preload/walks.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/placing.hpp"

namespace tailrace::preload::walks {
namespace {

// The functions that glob calls. They call opendir and the like, which reach the hooks of this library by these names.
template <class Glob>
int set_functions(int flags, Glob* to) {
    if (!placing::is_on() || to == nullptr || (flags & GLOB_ALTDIRFUNC) != 0) return flags;
    to->gl_opendir = [](const char* path) -> void* { return opendir(path); };
    to->gl_closedir = [](void* directory) { closedir(static_cast<DIR*>(directory)); };
    to->gl_readdir = [](void* directory) { return readdir(static_cast<DIR*>(directory)); };
    to->gl_stat = [](const char* path, struct stat* file) { return stat(path, file); };
    to->gl_lstat = [](const char* path, struct stat* file) { return lstat(path, file); };
    return flags | GLOB_ALTDIRFUNC;
}

struct Entries {
    dirent64** all = nullptr;
    size_t count = 0, room = 0;

    bool add(const dirent64* entry) {
        if (count == room) {
            room = room == 0 ? 64 : room * 2;
            auto* const more = static_cast<dirent64**>(realloc(all, room * sizeof *all));
            if (more == nullptr) return false;
            all = more;
        }
        all[count] = static_cast<dirent64*>(malloc(entry->d_reclen));
        if (all[count] == nullptr) return false;
        memcpy(all[count++], entry, entry->d_reclen);
        return true;
    }
    void drop() {
        for (size_t i = 0; i < count; ++i) free(all[i]);
        free(all);
    }
};

}  // namespace

int with_logical_view(int flags, glob_t* to) { return set_functions(flags, to); }

int with_logical_view(int flags, glob64_t* to) { return set_functions(flags, reinterpret_cast<glob_t*>(to)); }

bool scan_entries(int directory, const char* path, dirent64*** entries, int (*filter)(const dirent64*),
                  int (*compare)(const dirent64**, const dirent64**), int& result) {
    const int descriptor = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const folder = descriptor < 0 ? nullptr : fdopendir(descriptor);
    dirent64* entry = nullptr;
    if (folder == nullptr || !logical_folder::read(folder, entry)) {
        if (folder != nullptr) closedir(folder);
        return false;
    }
    Entries found;
    bool fits = true;
    for (; entry != nullptr && fits; logical_folder::read(folder, entry))
        if (filter == nullptr || filter(entry) != 0) fits = found.add(entry);
    closedir(folder);
    if (!fits) {
        found.drop();
        errno = ENOMEM;
        result = -1;
        return true;
    }
    if (compare != nullptr && found.count > 0)
        qsort(found.all, found.count, sizeof *found.all, reinterpret_cast<int (*)(const void*, const void*)>(compare));
    if (found.all == nullptr) found.all = static_cast<dirent64**>(malloc(sizeof *found.all));
    *entries = found.all;
    result = static_cast<int>(found.count);
    return true;
}

}  // namespace tailrace::preload::walks
