// Whether the growing parts of a stream show what the journal has committed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "part/version_record.hpp"
#include "record/history.hpp"

namespace tailrace {

// How many parts of a group a command looks at, from the first on: all, but where most of them are missing. A damaged journal may
// name millions.
uint64_t parts_to_look_at(const std::string& directory, const std::string& stream, const GroupEntry& group);
// The steps that a part of the group must show: up to the last one that the stream has of it.
uint64_t shown_steps(const History& history, size_t group);
// Of a part of a group of several steps. Throws NOT_FOUND where it is missing.
PartState state_of_part(const std::string& path, const History& history, size_t group);
// Shows the committed steps in all parts of the group. Returns the paths of those that were behind. Parts that are missing, or that
// another program has changed, stay as they are.
std::vector<std::string> bring_up_group(const std::string& directory, const std::string& stream, const History& history,
                                        size_t group);
// The same for the groups that a run which was killed may have left behind: the last ones.
void bring_up_last_groups(const std::string& directory, const std::string& stream, const History& history);
// Throws CORRUPT with a remedy where the dataset, to which a run would append, is not as Tailrace has written it.
void check_unchanged(const std::string& directory, const std::string& stream, const History& history);

}  // namespace tailrace
