// Which files below a folder some process of this node has open or mapped for writing, by /proc. For file systems where a lease is
// not enough. Sees the processes that this user may look into; a folder of mode 0700 has no others.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace tailrace {

struct OpenFiles {
    std::set<std::pair<uint64_t, uint64_t>> files;  // device and inode
    std::set<std::string> mapped_paths;             // absolute

    // Looks at all processes now. Takes about 20 us a process.
    static OpenFiles for_writing(const std::string& folder);
    bool has(uint64_t device, uint64_t inode, const std::string& path) const {
        return files.contains({device, inode}) || mapped_paths.contains(path);
    }
};

}  // namespace tailrace
