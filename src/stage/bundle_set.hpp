// The bundles of a folder as one: of a file that was delivered twice the later copy counts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stage/bundle_reader.hpp"

namespace tailrace {

// The bundles of a folder, those of each drain from the last to the first; a file: itself. Other files are passed over. Throws
// NOT_FOUND where there is none, and CORRUPT for one that a drain has named, and that has no sound end.
std::vector<std::string> bundles_in(const std::string& path);

// Calls `see` for each of the names, and all below those that are folders; an empty name: all. One bundle is open at a time. Throws
// NOT_FOUND for a name that is in none, and BAD_ARGUMENT for a file that two drains have delivered: none of them is the later one.
// Returns how many members the bundles have.
using SeeMember = std::function<void(const BundleReader& bundle, const Member& member)>;
uint64_t each_member_of(const std::string& path, const std::vector<std::string>& names, const SeeMember& see);

}  // namespace tailrace
