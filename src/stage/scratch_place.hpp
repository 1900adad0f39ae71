// Where a program makes its own folder on the scratch of its node.
#pragma once

#include <string>

namespace tailrace {

// The folder on this node that `named` names; variables in it ($NAME, ${NAME}) have their values on this node. "auto": the first of
// $SLURM_TMPDIR, $TMPDIR and $LOCALWORKDIR that is set. Returns its path without links. Throws BAD_CONFIG if there is none, or if
// other users may rename what is in it.
std::string scratch_place(const std::string& named);
// Makes a new folder that only this user can read; throws if the name exists.
void make_private_folder(const std::string& path);

}  // namespace tailrace
