// HDF5 may end the process that reads a damaged file with it, or never return. So commands that must survive that read unknown
// files in a child process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.hpp"

namespace tailrace {

// Returns true to continue.
using ChildProgress = std::function<bool(uint64_t done, uint64_t all)>;

// Runs `work` in a child process, and returns what it returns or throws what it throws. `work` gets a function that calls
// `progress` in this process. Where HDF5 ends the child, or takes minutes for a call, the file that it was reading is refused from
// then on, and `work` runs again: so it must be one that may be repeated. A child that is killed is an error, IO_FAILED. Runs in
// this process where there can be no other. Local; no other thread may be within HDF5.
Json in_reading_process(const std::function<Json(const ChildProgress&)>& work, const ChildProgress& progress = {});

namespace hdf5 {

// Called before HDF5 opens a file to read it. Throws CORRUPT where it has ended a child that read this file, as it is now.
void begin_reading(const std::string& path);
// Around calls of HDF5.
void enter_calls() noexcept;
void leave_calls() noexcept;

}  // namespace hdf5
}  // namespace tailrace
