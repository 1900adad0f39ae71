#include "view/index.hpp"

#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../part/part_files.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"

namespace tailrace {
namespace {

// Groups of so many steps with so many parts each.
History history_of(const std::vector<std::pair<uint64_t, uint64_t>>& groups) {
    History history;
    for (const auto& [steps, parts] : groups) {
        GroupEntry group;
        group.start = history.steps.size();
        group.steps = steps;
        group.parts = parts;
        for (uint64_t k = 0; k < steps; ++k) history.steps.push_back({history.steps.size(), 0, history.groups.size(), parts, 0});
        history.groups.push_back(group);
    }
    return history;
}

History same_groups(uint64_t groups, uint64_t steps, uint64_t parts) {
    return history_of(std::vector<std::pair<uint64_t, uint64_t>>(groups, {steps, parts}));
}

// Whatever the groups: files follow each other without a gap, hold all steps, and none has too many parts.
void check(const History& history) {
    uint64_t next = 0;
    for (const IndexFile& file : index_files(history, "s")) {
        EXPECT_EQ(file.from, next);
        EXPECT_GT(file.steps(), 0u);
        next = file.to;
        uint64_t parts = 0;
        for (const GroupEntry& group : history.groups)
            if (group.steps > 0 && group.start >= file.from && group.start < next) parts += group.parts;
        EXPECT_LE(parts, kMaxIndexParts);
    }
    EXPECT_EQ(next, history.steps.size());
}

TEST(IndexFiles, OneWhereItsPartsAreFew) {
    const auto files = index_files(same_groups(kMaxIndexParts / 4, 3, 4), "history");
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].path, "history.nc");
    EXPECT_EQ(files[0].steps(), kMaxIndexParts / 4 * 3);
}

TEST(IndexFiles, SeveralWhereItsPartsAreMany) {
    const History history = same_groups(kMaxIndexParts / 4 + 1, 3, 4);
    check(history);
    const auto files = index_files(history, "history");
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].path, "history.000000.nc");
    char name[32];
    std::snprintf(name, sizeof name, "history.%06llu.nc", static_cast<unsigned long long>(kMaxIndexParts / 4 * 3));
    EXPECT_EQ(files[1].path, name);
    EXPECT_EQ(files[1].steps(), 3u);
}

TEST(IndexFiles, UnevenGroups) {
    check(history_of({{1, 200}, {5, 100}, {1, 156}, {2, 1}, {1, kMaxIndexParts}, {1, 1}}));
    check(history_of({{0, 7}, {3, 7}, {0, 7}}));
    check(same_groups(5 * kMaxIndexParts, 1, 1));
}

TEST(IndexFiles, NoneWhereAStepHasTooManyParts) {
    EXPECT_TRUE(index_files(same_groups(1, 1, kMaxIndexParts + 1), "s").empty());
    EXPECT_TRUE(index_files(history_of({{3, 2}, {1, kMaxIndexParts + 1}}), "s").empty());
    EXPECT_TRUE(index_files(History(), "s").empty());
}

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
    check_index_path(directory / "s.000000.nc", "s");
    check_index_path(directory / "absent.nc", "s");
    const Error error = error_of([&] { check_index_path(directory / "s.202402.nc", "s"); });
    EXPECT_EQ(error.status(), Status::BAD_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("s.202402.nc exists and is not an index of stream 's'"), std::string::npos)
        << error.what();
}

}  // namespace
}  // namespace tailrace
