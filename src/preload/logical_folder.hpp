// Reads a directory that has a tree of placed files, as the program sees it: the files of the tree appear among the other entries,
// and the directories of the tree do not appear.
#pragma once

#include <dirent.h>

namespace tailrace::preload::logical_folder {

static_assert(sizeof(dirent) == sizeof(dirent64));

// Reads all entries of a directory that has a tree. Called after it was opened; does nothing for other directories.
void begin(DIR* directory);
// Frees the entries that begin() has read. Called before the directory is closed.
void end(DIR* directory);

// readdir, telldir, seekdir and rewinddir of a directory with a tree. Return false if the directory has no tree. read() sets
// `entry` to the next entry, or nullptr at the end.
bool read(DIR* directory, dirent64*& entry);
bool tell(DIR* directory, long& place);
bool seek(DIR* directory, long place);
bool rewind(DIR* directory);

// Removes the empty directories of the tree below a folder that is about to be removed. False: the folder has no tree.
bool remove_empty_tree(int directory, const char* path);
// Moves all files of trees below a folder to their logical paths, before the folder is renamed, because no rule may exist for the
// new name. False: this failed, and errno is set.
bool flatten_before_rename(int directory, const char* from, int to_directory, const char* to);

}  // namespace tailrace::preload::logical_folder
