// Files out of a bundle, to a folder that they cannot leave.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "stage/bundle_reader.hpp"

namespace tailrace {

class Extraction {
public:
    Extraction(const BundleReader& bundle, const std::string& folder);  // makes the folder

    // A member, or all below a folder; an empty name: all. Throws where the bundle has none, where something is there under its
    // name, and where a member would leave the folder. A file appears whole, after its checksum was compared, or not at all.
    void take(const std::string& name);
    uint64_t files() const { return files_; }
    uint64_t bytes() const { return bytes_; }

private:
    void make(const Member& member);
    void make_file(const Member& member, int parent, const std::string& name);
    void make_hard_link(const Member& member, int parent, const std::string& name);
    [[noreturn]] void fail_at(const char* action, const Member& member) const;

    const BundleReader& bundle_;
    std::string folder_path_;
    Descriptor folder_;
    std::vector<char> buffer_;
    std::set<std::string, std::less<>> made_;  // files, for hard links to them
    uint64_t files_ = 0, bytes_ = 0;
};

}  // namespace tailrace
