// Where the files of a stream are.
#pragma once

#include <cstdint>
#include <string>

#include "layout/parts.hpp"

namespace tailrace {

struct StreamPaths {
    std::string directory, name;
    uint64_t run = 0;      // the number of this run's segment of the journal, in the names of what is not committed
    uint64_t segment = 0;  // the number in the names of its parts; 0: none

    std::string path(const std::string& relative) const { return directory + "/" + relative; }
    std::string dataset() const { return path(dataset_path(name)); }
    std::string parts() const { return path(parts_directory(name)); }
    std::string journal() const { return path(journal_path(name)); }
    std::string pending(const Layout& layout, uint64_t start) const { return path(pending_path(layout, name, start, run)); }
};

}  // namespace tailrace
