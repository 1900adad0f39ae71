// ftw and nftw over the directories as the program sees them. The C library's own functions would read directories without the
// hooks.
#pragma once

#include <ftw.h>
#include <sys/stat.h>

namespace tailrace::preload::walks {

using Visit = int (*)(const char*, const struct stat*, int, FTW*);

// Works like nftw. With `plain`, like ftw: `visit` is called without its last argument, links are followed, and there are fewer
// kinds of entries.
int walk_files(const char* path, Visit visit, int flags, bool plain);

}  // namespace tailrace::preload::walks
