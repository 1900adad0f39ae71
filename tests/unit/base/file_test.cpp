#include "base/file.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"

namespace tailrace {
namespace {

std::string message_of(const Error& error) { return error.what(); }

class FileTest : public testing::Test {
protected:
    TemporaryDirectory directory_;
};

TEST_F(FileTest, FilesAreWrittenAtAddressesAndReadBack) {
    const std::string path = directory_ / "data";
    File file = File::create(path);
    file.write_at(5, "world", 5);
    file.write_at(0, "hello", 5);
    EXPECT_EQ(file.size_bytes(), 10u);
    EXPECT_EQ(File::open_read(path).read_all(), "helloworld");
    File::open_append(path).append("!", 1);
    File again = File::open_write(path);
    again.write_at(0, "H", 1);
    again.sync();
    EXPECT_EQ(again.read_all(), "Helloworld!");
    again.set_size(4);
    again.close();
    EXPECT_FALSE(again.is_open());
    again.close();  // twice is fine
    EXPECT_EQ(File::open_read(path).read_all(), "Hell");
}

TEST_F(FileTest, MoreBuffersThanACallTakesAreWrittenWhole) {
    std::string expected;
    std::vector<std::string> texts;
    for (int i = 0; i < 3 * IOV_MAX + 7; ++i) texts.push_back(i % 5 == 0 ? "" : std::to_string(i));
    std::vector<iovec> buffers;
    for (std::string& text : texts) {
        buffers.push_back({text.data(), text.size()});
        expected += text;
    }
    File file = File::create(directory_ / "buffers");
    file.write_at(3, buffers);
    EXPECT_EQ(file.read_all(), std::string(3, '\0') + expected);
}

TEST_F(FileTest, FailuresNameThePathTheReasonAndTheStatus) {
    const std::string absent = directory_ / "absent";
    const Error missing = error_of([&] { File::open_read(absent); });
    EXPECT_EQ(missing.status(), Status::NOT_FOUND);
    EXPECT_EQ(message_of(missing), "cannot open " + absent + ": No such file or directory");
    EXPECT_EQ(error_of([&] { File::open_write(absent); }).status(), Status::NOT_FOUND);

    const Error truncated = error_of([&] {
        File file = File::create(directory_ / "short");
        file.write_at(0, "abc", 3);
        char bytes[8];
        file.read_at(0, bytes, sizeof bytes);
    });
    EXPECT_EQ(truncated.status(), Status::CORRUPT);
    EXPECT_EQ(message_of(truncated), directory_ / "short" + std::string(" ends at byte 3, 5 bytes too early: it was truncated"));

    File::create(directory_ / "file");
    const Error not_a_directory = error_of([&] { make_directories(directory_ / "file"); });
    EXPECT_EQ(not_a_directory.status(), Status::IO_FAILED);
    EXPECT_EQ(message_of(not_a_directory), "cannot make directory " + directory_ / "file" + std::string(": Not a directory"));
    EXPECT_EQ(error_of([&] { make_directories(directory_ / "file/below/it"); }).status(), Status::IO_FAILED);
    const Error rename = error_of([&] { rename_path(absent, directory_ / "new"); });
    EXPECT_EQ(rename.status(), Status::NOT_FOUND);
    EXPECT_EQ(message_of(rename),
              "cannot rename " + absent + " to " + directory_ / "new" + std::string(": No such file or directory"));
    EXPECT_EQ(error_of([&] { remove_file(directory_.path()); }).status(), Status::IO_FAILED);
}

TEST_F(FileTest, AFullDeviceIsNoSpace) {
    if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
    File full = File::open_of_process("/dev/full");
    const Error error = error_of([&] { full.write_at(0, "x", 1); });
    EXPECT_EQ(error.status(), Status::NO_SPACE);
    EXPECT_EQ(message_of(error),
              "cannot write /dev/full: No space left on device; free space or raise the quota, or write elsewhere");
}

TEST_F(FileTest, AFolderThatMayNotBeWrittenIsNamedWithTheRemedy) {
    if (::geteuid() == 0) {
        // Root may write everywhere, except where nobody may.
        const Error error = error_of([] { File::create("/proc/self/none"); });
        EXPECT_NE(error.status(), Status::OK);
        EXPECT_TRUE(message_of(error).starts_with("cannot create /proc/self/none: ")) << error.what();
        return;
    }
    std::filesystem::permissions(directory_.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    const Error error = error_of([&] { File::create(directory_ / "file"); });
    std::filesystem::permissions(directory_.path(), std::filesystem::perms::owner_all);
    EXPECT_EQ(error.status(), Status::IO_FAILED);
    EXPECT_EQ(message_of(error), "cannot create " + directory_ / "file" +
                                     std::string(": Permission denied; choose a directory that this user may write"));
}

// A limit on file sizes is the plainest way to make the middle of a large write fail.
TEST_F(FileTest, AWriteThatTheSystemCutsShortIsAnError) {
    File file = File::create(directory_ / "limited");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const std::string content(5000, 'x');
    const Error error = error_of([&] { file.write_at(0, content.data(), content.size()); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_EQ(error.status(), Status::IO_FAILED);
    EXPECT_EQ(message_of(error), "cannot write " + directory_ / "limited" + std::string(": File too large"));
}

// The limit itself is not lowered here: the sanitizers, which check the stream that puts the message together, need a pipe for it.
TEST_F(FileTest, TooManyOpenFilesNamesTheLimit) {
    for (const int code : {EMFILE, ENFILE}) {
        const Error error = error_of([&] { fail_system("create", directory_ / "one-too-many", code); });
        EXPECT_EQ(error.status(), Status::IO_FAILED);
        EXPECT_TRUE(message_of(error).ends_with("; raise the limit of open files (ulimit -n)")) << error.what();
    }
}

TEST_F(FileTest, NothingIsMadeInThePlaceOfADirectoryThatVanished) {
    const std::string gone = directory_ / "gone";
    EXPECT_EQ(error_of([&] { make_directories(gone + "/a/b", gone); }).status(), Status::NOT_FOUND);
    EXPECT_EQ(error_of([&] { make_directories(gone + "/a", gone); }).status(), Status::NOT_FOUND);
    EXPECT_FALSE(path_exists(gone));
    make_directories(gone);
    make_directories(gone + "/a/b", gone);
    EXPECT_TRUE(path_exists(gone + "/a/b"));
}

TEST_F(FileTest, DirectoriesAreMadeListedAndRemoved) {
    make_directories(directory_ / "a/b/c");
    make_directories(directory_ / "a/b/c");
    make_directories(directory_ / "a/b/");
    make_directories("");
    File::create(directory_ / "a/z");
    File::create(directory_ / "a/y");
    EXPECT_EQ(list_directory(directory_ / "a"), (std::vector<std::string>{"b", "y", "z"}));
    EXPECT_TRUE(list_directory(directory_ / "none").empty());
    sync_directory(directory_ / "a");
    rename_path(directory_ / "a", directory_ / "A");
    EXPECT_FALSE(path_exists(directory_ / "a"));
    EXPECT_TRUE(path_exists(directory_ / "A/b/c"));
    remove_file(directory_ / "A/z");
    remove_file(directory_ / "A/z");
    EXPECT_FALSE(path_exists(directory_ / "A/z"));
    remove_tree(directory_ / "A");
    remove_tree(directory_ / "A");
    EXPECT_TRUE(list_directory(directory_.path()).empty());
}

TEST_F(FileTest, LinksInATreeAreRemovedAndNotFollowed) {
    make_directories(directory_ / "kept");
    std::ofstream(directory_ / "kept/file") << "kept";
    make_directories(directory_ / "tree/deep");
    std::filesystem::create_directory_symlink(directory_ / "kept", directory_ / "tree/deep/link");
    std::filesystem::create_directory_symlink(directory_ / "nowhere", directory_ / "tree/dangling");
    remove_tree(directory_ / "tree");
    EXPECT_EQ(list_directory(directory_.path()), (std::vector<std::string>{"kept"}));
    std::filesystem::create_directory_symlink(directory_ / "kept", directory_ / "link");
    remove_tree(directory_ / "link");
    EXPECT_EQ(list_directory(directory_.path()), (std::vector<std::string>{"kept"}));
    remove_tree(directory_ / "kept/file/below");
    EXPECT_EQ(list_directory(directory_ / "kept"), (std::vector<std::string>{"file"}));
    EXPECT_NE(message_of(error_of([&] { list_directory(directory_ / "kept/file"); })).find("kept/file: Not a directory"),
              std::string::npos);
}

TEST_F(FileTest, ReplacedFilesAreOldOrNew) {
    const std::string path = directory_ / "index";
    replace_file(path, "old and long", false);
    replace_file(path, "new", true);
    EXPECT_EQ(File::open_read(path).read_all(), "new");
    EXPECT_EQ(list_directory(directory_.path()), (std::vector<std::string>{"index"})) << "nothing temporary stays";
}

TEST_F(FileTest, AMovedFileHasOneOwner) {
    File first = File::create(directory_ / "one");
    File second = std::move(first);
    EXPECT_TRUE(second.is_open());
    second = File::create(directory_ / "two");
    second.write_at(0, "2", 1);
    EXPECT_EQ(second.path(), directory_ / "two");
    EXPECT_EQ(File::open_read(directory_ / "one").size_bytes(), 0u);
}

TEST_F(FileTest, ReservedRoomKeepsContent) {
    File file = File::create(directory_ / "reserved");
    file.write_at(0, "abc", 3);
    file.reserve(0, 100'000);
    char bytes[3];
    file.read_at(0, bytes, 3);
    EXPECT_EQ(std::string(bytes, 3), "abc");
    file.reserve(0, 0);
}

TEST_F(FileTest, WhatIsNoFileIsNotOpened) {
    const std::string data = directory_ / "data", link = directory_ / "link", fifo = directory_ / "fifo",
                      folder = directory_ / "folder";
    File::create(data).write_at(0, "x", 1);
    std::filesystem::create_symlink(data, link);
    std::filesystem::create_directory(folder);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    for (const auto& [path, kind] : {std::pair(link, "a symbolic link"), {fifo, "a FIFO"}, {folder, "a directory"}}) {
        const auto refused = [&, &path = path, &kind = kind](auto&& open) {
            const Error error = error_of(open);
            EXPECT_EQ(error.status(), Status::CORRUPT);
            EXPECT_NE(message_of(error).find(path + " is " + kind), std::string::npos) << message_of(error);
        };
        refused([&, &path = path] { File::open_read(path); });
        refused([&, &path = path] { File::open_write(path); });
        refused([&, &path = path] { File::open_append(path); });
        refused([&, &path = path] { File::create(path); });
    }
    EXPECT_EQ(File::open_users_file(link).read_all(), "x");
    EXPECT_EQ(error_of([&] { File::open_users_file(fifo); }).status(), Status::CORRUPT);
    EXPECT_EQ(File::open_read(data).read_all(), "x") << "nothing was written through the link";
    File::open_directory(folder).sync();
}

}  // namespace
}  // namespace tailrace
