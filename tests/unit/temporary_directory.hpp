// A directory of its own for a test, gone at its end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace tailrace {

class TemporaryDirectory {
public:
    explicit TemporaryDirectory(const std::string& within = testing::TempDir()) {
        std::string path = within + "/tailrace-unit-XXXXXX";
        if (!mkdtemp(path.data())) ADD_FAILURE() << "no temporary directory " << path;
        path_ = path;
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

}  // namespace tailrace
