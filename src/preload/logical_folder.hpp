// Directories with a tree, as programs see them: the files of the tree beside the other entries, and no directory of the tree.
#pragma once

#include <dirent.h>

namespace tailrace::preload::logical_folder {

static_assert(sizeof(dirent) == sizeof(dirent64));

// Reads all entries of a directory that has a tree. Called after it was opened; does nothing for other directories.
void begin(DIR* directory);
// Frees them, before the directory is closed.
void end(DIR* directory);

// Whether a directory has a tree, and if so its next entry, or nullptr at its end.
bool read(DIR* directory, dirent64*& entry);
bool tell(DIR* directory, long& place);
bool seek(DIR* directory, long place);
bool rewind(DIR* directory);

// Removes the empty directories of the tree below a folder that is about to be removed. False: the folder has no tree.
bool remove_empty_tree(int directory, const char* path);
// Moves all files of trees below a folder that gets another name to where their logical paths say: no rule may be for the new name.
// False where this failed, with errno.
bool flatten_before_rename(int directory, const char* from, int to_directory, const char* to);

}  // namespace tailrace::preload::logical_folder
