// Reads files in a child process. HDF5 may crash on a damaged file, or never return; commands that must survive that read unknown
// files this way.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.hpp"

namespace tailrace {

// Returns true to continue.
using ChildProgress = std::function<bool(uint64_t done, uint64_t all)>;

// Runs `work` in a child process, and returns what it returns or throws what it throws. `work` gets a function that calls
// `progress` in this process. If HDF5 crashes the child, or takes minutes for a call, the file that it was reading is refused from
// then on, and `work` runs again: it must be repeatable. A child that is killed is an error, IO_FAILED. Runs `work` in this process
// if no child can be started. Local; no other thread may be within HDF5.
Json in_reading_process(const std::function<Json(const ChildProgress&)>& work, const ChildProgress& progress = {});

namespace hdf5 {

// Called before HDF5 opens a file to read it. Throws CORRUPT if HDF5 has crashed a child on this file, and the file has not
// changed.
void begin_reading(const std::string& path);
// Called before and after calls of HDF5.
void enter_calls() noexcept;
void leave_calls() noexcept;

}  // namespace hdf5
}  // namespace tailrace
