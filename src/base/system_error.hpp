// Errors of system calls: the status of an errno, and the message with path, reason and remedy.
#pragma once

#include <string>

#include "base/error.hpp"

namespace tailrace {

// The status of an errno: NO_SPACE, NOT_FOUND or IO_FAILED.
Status status_of_errno(int code);

// Throws "cannot DOING PATH: REASON; REMEDY".
[[noreturn]] void fail_system(const char* doing, const std::string& path, int code);

}  // namespace tailrace
