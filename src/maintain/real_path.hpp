// Where a path leads, to see whether two are the same file.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace tailrace {

// Without links and dots; what does not exist may follow. Where links go round in a circle, or a directory may not be searched, the
// path as it is written: opening it then says what is wrong.
inline std::filesystem::path real_path(const std::string& path) {
    std::error_code failed;
    if (std::filesystem::path real = std::filesystem::weakly_canonical(path, failed); !failed) return real;
    const std::filesystem::path written = std::filesystem::absolute(path, failed);
    return (failed ? std::filesystem::path(path) : written).lexically_normal();
}

}  // namespace tailrace
