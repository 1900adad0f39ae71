#include "view/index.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../part/part_files.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"
#include "base/paths.hpp"

namespace tailrace {
namespace {

void write_file_with(const std::string& path, const std::string& attribute, const std::string& value) {
    test::PartFile file;
    file.description = test::grid(2, 2, true);
    file.description.attributes.push_back(text_attribute(attribute, value));
    file.write(path, {1});
}

TEST(IndexPaths, AreThoseOfTheStreamAlone) {
    const TemporaryDirectory directory;
    const std::string ours = "virtual datasets over the parts in s.parts/; and more";
    for (const char* name : {"s.nc", "s.parts", "ss.nc", "s.12.nc", "s.00000x.nc", "s.x.000000.nc", "s.000007.nc"})
        File::create(directory / name).close();
    for (const char* name : {"s.000000.nc", "s.1000000.nc"}) write_file_with(directory / name, "tailrace_index", ours);
    write_file_with(directory / "s.202401.nc", "tailrace_index", "virtual datasets over the parts in s.202401.parts/; and more");
    write_file_with(directory / "s.202402.nc", "title", ours);
    const std::vector<std::string> expected = {directory / "s.000000.nc", directory / "s.1000000.nc", directory / "s.nc"};
    EXPECT_EQ(index_paths(directory.path(), "s"), expected);
}

TEST(IndexPaths, AFileOfOthersIsRefused) {
    const TemporaryDirectory directory;
    check_index_path(directory.path(), "s");
    write_file_with(directory / "s.nc", "title", "of another program");
    const Error error = error_of([&] { check_index_path(directory.path(), "s"); });
    EXPECT_EQ(error.status(), Status::BAD_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("s.nc exists and is not an index of stream 's'"), std::string::npos) << error.what();
    // A run that has just begun has made the folder of its parts, and its file is not whole yet.
    make_directories(directory / "s.parts");
    check_index_path(directory.path(), "s");
    write_file_with(directory / "t.nc", "tailrace_index", "virtual datasets over the parts in t.parts/; and more");
    check_index_path(directory.path(), "t");
}

}  // namespace
}  // namespace tailrace
