// Resolves a path, to find out whether two paths are the same file.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace tailrace {

// The absolute path without links, `.` and `..`; its last names need not exist. If links form a circle, or a directory may not be
// searched, only `.` and `..` are removed: opening the path then reports the error.
inline std::filesystem::path real_path(const std::string& path) {
    std::error_code failed;
    if (std::filesystem::path real = std::filesystem::weakly_canonical(path, failed); !failed) return real;
    const std::filesystem::path written = std::filesystem::absolute(path, failed);
    return (failed ? std::filesystem::path(path) : written).lexically_normal();
}

}  // namespace tailrace
