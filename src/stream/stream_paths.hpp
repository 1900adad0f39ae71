// The paths of a stream's files.
#pragma once

#include <cstdint>
#include <string>

#include "layout/parts.hpp"

namespace tailrace {

struct StreamPaths {
    std::string directory, name;
    uint64_t run = 0;      // the number of this run's journal segment; it is in the names of files that are not committed
    uint64_t segment = 0;  // the number in the names of this run's parts; 0: the names have none

    std::string path(const std::string& relative) const { return directory + "/" + relative; }
    std::string dataset() const { return path(dataset_path(name)); }
    std::string parts() const { return path(parts_directory(name)); }
    std::string journal() const { return path(journal_path(name)); }
    std::string pending(const Layout& layout, uint64_t start) const { return path(pending_path(layout, name, start, run)); }
};

}  // namespace tailrace
