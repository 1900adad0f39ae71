// Counts the directories above a list of files, and the entries in each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailrace {

class DirectoryCensus {
public:
    // Counts a file. `path`: relative to the top directory, with '/' between names. All paths of a directory must be added one
    // after the other. Memory does not grow with the number of paths.
    void add(std::string_view path);

    uint64_t directories() const { return directories_; }    // below the top one
    uint64_t most_entries() const { return most_entries_; }  // in any of them and in the top one
    uint64_t top_entries() const { return levels_.front().entries; }

private:
    struct Level {
        std::string name;
        uint64_t entries = 0;
    };
    std::vector<Level> levels_{Level{}};  // from the top directory to that of the last file
    uint64_t directories_ = 0, most_entries_ = 0;
};

}  // namespace tailrace
