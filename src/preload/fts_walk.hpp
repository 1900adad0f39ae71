// fts over the directories as the program sees them. The C library's own functions would read directories without the hooks. The
// working directory is never changed, as with FTS_NOCHDIR: fts_accpath is fts_path.
#pragma once

#include <fts.h>

namespace tailrace::preload::fts_walk {

using Compare = int (*)(const FTSENT**, const FTSENT**);

// The functions of <fts.h>. A walk that open() began must be given to the other ones of these alone.
FTS* open(char* const* paths, int options, Compare compare);
FTSENT* read(FTS* walk);
FTSENT* children(FTS* walk, int instruction);
int set(FTS* walk, FTSENT* entry, int instruction);
int close(FTS* walk);

}  // namespace tailrace::preload::fts_walk
