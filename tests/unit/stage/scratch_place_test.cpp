#include "stage/scratch_place.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"

namespace tailrace {
namespace {

class ScratchPlaceTest : public testing::Test {
protected:
    void SetUp() override {
        for (const char* variable : {"SLURM_TMPDIR", "TMPDIR", "LOCALWORKDIR"}) {
            const char* const value = std::getenv(variable);
            before_[variable] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
            ::unsetenv(variable);
        }
    }
    // Other tests of the process make their folders in TMPDIR.
    void TearDown() override {
        for (const auto& [variable, value] : before_)
            value ? ::setenv(variable.c_str(), value->c_str(), 1) : ::unsetenv(variable.c_str());
    }
    void set(const char* variable, const std::string& value) { ::setenv(variable, value.c_str(), 1); }

    TemporaryDirectory directory_;
    std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(ScratchPlaceTest, TheFirstVariableOfABatchSystemThatIsSet) {
    EXPECT_EQ(error_of([] { scratch_place("auto"); }).status(), Status::BAD_CONFIG);
    set("LOCALWORKDIR", directory_.path());
    const std::string found = scratch_place("auto");
    EXPECT_TRUE(found.ends_with(directory_.path().substr(directory_.path().rfind('/'))));
    set("TMPDIR", directory_ / "absent");
    EXPECT_EQ(error_of([] { scratch_place("auto"); }).status(), Status::BAD_CONFIG) << "it comes first";
}

TEST_F(ScratchPlaceTest, VariablesHaveTheirValues) {
    ::mkdir((directory_ / "sub").c_str(), 0700);
    set("TMPDIR", directory_.path());
    const std::string expected = scratch_place(directory_ / "sub");
    EXPECT_EQ(scratch_place("$TMPDIR/sub"), expected);
    EXPECT_EQ(scratch_place("${TMPDIR}/sub"), expected);
    EXPECT_EQ(scratch_place("${TMPDIR}/./sub/"), expected);
    for (const char* bad : {"$TMPDIR_NOT/sub", "${TMPDIR/sub", "sub", "$"})
        EXPECT_EQ(error_of([&] { scratch_place(bad); }).status(), Status::BAD_CONFIG) << bad;
}

TEST_F(ScratchPlaceTest, AFolderWhereOthersMayRenameIsRefused) {
    ::mkdir((directory_ / "open").c_str(), 0700);
    ::chmod((directory_ / "open").c_str(), 0777);
    EXPECT_EQ(error_of([&] { scratch_place(directory_ / "open"); }).status(), Status::BAD_CONFIG);
    ::chmod((directory_ / "open").c_str(), 01777);
    EXPECT_NO_THROW(scratch_place(directory_ / "open"));
}

TEST_F(ScratchPlaceTest, ANewFolderIsClosedToOthers) {
    make_private_folder(directory_ / "new");
    struct stat status;
    ASSERT_EQ(::stat((directory_ / "new").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_THROW(make_private_folder(directory_ / "new"), Error);
}

}  // namespace
}  // namespace tailrace
