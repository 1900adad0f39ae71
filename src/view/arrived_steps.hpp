// Steps that a run with stage = scratch has staged and not committed: which of them are at their target by now.
#pragma once

#include <functional>
#include <string>

#include "base/journal.hpp"
#include "record/history.hpp"

namespace tailrace {

// Commits staged steps, in their order, up to the first whose parts are not all there with the bytes and checksums of its line.
// Local, called by the only process that writes to the stream. `append` appends a line to its journal. `may_write_parts`: no
// earlier run may still write into them. Returns the number of steps that it committed.
uint64_t commit_arrived_steps(const std::string& directory, const std::string& stream, History& history, bool may_write_parts,
                              const std::function<void(const Json&)>& append);

// Says which steps are staged, and which parts of the first of them are missing: on which node, in which folder, and how
// they are delivered. `deep`: where none is missing, what is wrong with them. Empty: no step is staged.
std::string text_of_staged(const std::string& directory, const std::string& stream, const History& history, bool deep = false);
// The numbers of the staged steps, for messages: "step 5", "steps 5 to 7".
std::string staged_numbers(const History& history);

}  // namespace tailrace
