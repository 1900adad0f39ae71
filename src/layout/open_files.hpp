// How many files a reader of a whole stream keeps open. Readers of virtual datasets do not close the parts that they have read. For
// parts that they cannot open, they return fill values without an error.
#pragma once

#include <cstdint>
#include <string>

#include "layout/layout.hpp"

namespace tailrace {

constexpr uint64_t kUsualOpenFiles = 1024;  // of a process, unless its user raises the limit

// A note for users about a stream of so many files, with the index; "" if a reader with the usual limit can keep all of them open.
// `layout`: of the last steps; `parts`: of one of these steps.
std::string note_of_open_files(const Layout& layout, uint64_t parts, uint64_t files);

}  // namespace tailrace
