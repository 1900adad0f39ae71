// Files that later runs have taken out of the bundles of a folder: FOLDER/tailrace-taken names them. Such a file was at its own
// name from then on, and the program may have changed or removed it, so its copy in the bundle is not the file any more.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "stage/descriptor.hpp"

namespace tailrace {

class TakenNames {
public:
    // Reads the list. Names are those of the bundles of a drain (drain_of_bundle).
    explicit TakenNames(const std::string& folder);

    bool has(std::string_view drain, std::string_view name) const;
    // Adds a name to the list in the folder.
    void add(const std::string& drain, const std::string& name);

private:
    std::string path_;
    std::map<std::string, std::set<std::string, std::less<>>, std::less<>> names_;  // by drain
    Descriptor file_;                                                               // opened with the first name that is added
};

}  // namespace tailrace
