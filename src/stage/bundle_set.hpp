// The bundles of a folder, read as one bundle: if a file was delivered twice, the later copy is used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stage/bundle_reader.hpp"

namespace tailrace {

// The paths of the bundles in a folder; those of each drain are ordered from the last to the first. If `path` is a file, its path.
// Ignores files that are not bundles. Throws NOT_FOUND if there is no bundle, and CORRUPT for one with a bundle's name and a bad
// end.
std::vector<std::string> bundles_in(const std::string& path);

// The same; empty if there is no bundle, or no folder.
std::vector<std::string> bundles_in_or_none(const std::string& folder);
// NODE-TOKEN of a bundle's file name, which all bundles of one drain have.
std::string drain_of_bundle(const std::string& path);

struct Members {
    uint64_t all = 0;    // of the bundles
    uint64_t taken = 0;  // of those asked for: were passed over
};
// By name; or folders first, and then as the bytes lie in the bundle, which a server reads many times faster.
enum class MemberOrder : uint8_t { name, position };
using SeeMember = std::function<void(const BundleReader& bundle, const Member& member)>;

// Calls `see` for each of the names, and for all members below those that are folders; an empty name: all members. A few bundles
// are open at a time. Throws NOT_FOUND for a name that is in no bundle, and BAD_ARGUMENT for a file that two drains have delivered:
// it is not known which copy is the later one. If `path` is a folder, files that later runs have taken out of its bundles
// (stage/taken_names.hpp) are passed over, and one of `names` is NOT_FOUND if it is such a file.
Members each_member_of(const std::string& path, const std::vector<std::string>& names, const SeeMember& see,
                       MemberOrder order = MemberOrder::name);

}  // namespace tailrace
