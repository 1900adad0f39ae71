// Directory reads that the C library makes within its own functions (scandir, glob), made so that they show the logical view.
#pragma once

#include <dirent.h>
#include <ftw.h>
#include <glob.h>

namespace tailrace::preload::walks {

// scandir of a directory with a tree. False: the directory has no tree, and nothing was done.
bool scan_entries(int directory, const char* path, dirent64*** entries, int (*filter)(const dirent64*),
                  int (*compare)(const dirent64**, const dirent64**), int& result);

// dirent and dirent64 are the same record on this machine.
template <class Entry>
bool scan(int directory, const char* path, Entry*** entries, int (*filter)(const Entry*),
          int (*compare)(const Entry**, const Entry**), int& result) {
    return scan_entries(directory, path, reinterpret_cast<dirent64***>(entries), reinterpret_cast<int (*)(const dirent64*)>(filter),
                        reinterpret_cast<int (*)(const dirent64**, const dirent64**)>(compare), result);
}

// Sets functions in `to` that show the logical view, and returns the flags with which glob calls them.
int with_logical_view(int flags, glob_t* to);
int with_logical_view(int flags, glob64_t* to);

}  // namespace tailrace::preload::walks
