// ftw and nftw over the logical view. The C library's own read directories without the hooks.
#pragma once

#include <ftw.h>
#include <sys/stat.h>

namespace tailrace::preload::walks {

using Visit = int (*)(const char*, const struct stat*, int, FTW*);

// As nftw; with `plain` as ftw, which has a function without its last argument, follows links and knows fewer kinds.
int walk_files(const char* path, Visit visit, int flags, bool plain);

}  // namespace tailrace::preload::walks
