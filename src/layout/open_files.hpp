// How many files a reader of a whole stream keeps open. Readers of virtual datasets do not close the parts that they have read, and
// what they cannot open reads as fill values, without an error.
#pragma once

#include <cstdint>
#include <string>

#include "layout/layout.hpp"

namespace tailrace {

constexpr uint64_t kUsualOpenFiles = 1024;  // of a process, unless its user raises the limit

// What to say of a stream of so many files, the index among them; "" where a reader with the usual limit can hold them. `layout`:
// of its last steps; `parts`: of one of them.
std::string note_of_open_files(const Layout& layout, uint64_t parts, uint64_t files);

}  // namespace tailrace
