// Whether the growing parts of a stream show what the journal has committed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "part/version_record.hpp"
#include "record/history.hpp"

namespace tailrace {

// How many parts of a group a command checks, from the first on: all, unless most of them are missing. A damaged journal may name
// millions of parts.
uint64_t parts_to_look_at(const std::string& directory, const std::string& stream, const GroupEntry& group);
// The number of steps that a part of the group must show: up to the last step that the stream has of the group.
uint64_t shown_steps(const History& history, size_t group);
// The state of a part of a group of several steps. Throws NOT_FOUND if the part is missing.
PartState state_of_part(const std::string& path, const History& history, size_t group);
// Makes all parts of the group show the committed steps. Returns the paths of the parts that showed fewer. Parts that are missing,
// or that another program has changed, are not touched.
std::vector<std::string> bring_up_group(const std::string& directory, const std::string& stream, const History& history,
                                        size_t group);
// bring_up_group() for the last groups of each run, whose parts a killed run may have left with fewer steps.
void bring_up_last_groups(const std::string& directory, const std::string& stream, const History& history);
// Throws CORRUPT with a remedy if another program has changed the dataset to which a run would append.
void check_unchanged(const std::string& directory, const std::string& stream, const History& history);

}  // namespace tailrace
