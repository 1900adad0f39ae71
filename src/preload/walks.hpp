// What the C library reads of directories by itself, read through the logical view instead.
#pragma once

#include <dirent.h>
#include <ftw.h>
#include <glob.h>

namespace tailrace::preload::walks {

// scandir of a directory with a tree. False: it has none.
bool scan_entries(int directory, const char* path, dirent64*** entries, int (*filter)(const dirent64*),
                  int (*compare)(const dirent64**, const dirent64**), int& result);

// dirent and dirent64 are the same record on this machine.
template <class Entry>
bool scan(int directory, const char* path, Entry*** entries, int (*filter)(const Entry*),
          int (*compare)(const Entry**, const Entry**), int& result) {
    return scan_entries(directory, path, reinterpret_cast<dirent64***>(entries), reinterpret_cast<int (*)(const dirent64*)>(filter),
                        reinterpret_cast<int (*)(const dirent64**, const dirent64**)>(compare), result);
}

// The flags for glob, which then calls functions of its argument that show the logical view.
int with_logical_view(int flags, glob_t* to);
int with_logical_view(int flags, glob64_t* to);

}  // namespace tailrace::preload::walks
