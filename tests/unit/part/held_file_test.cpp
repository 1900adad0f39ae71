// Whether it holds bytes or not, the same file comes out; small ones come out at the end.
#include "part/held_file.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "../temporary_directory.hpp"

namespace tailrace {
namespace {

struct HeldFileTest : testing::Test {
    std::string path(const char* name) const { return directory_ / name; }
    TemporaryDirectory directory_;
};

TEST_F(HeldFileTest, HoldsWhatItWouldHaveWritten) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; ++round) {
        HeldFile held(File::create(path("held")), true), plain(File::create(path("plain")), false);
        for (uint64_t write = random() % 8; write-- > 0;) {
            std::vector<std::byte> bytes(random() % (1u << random() % 19));
            for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
            const uint64_t address = random() % (1u << random() % 19), half = bytes.size() / 2;
            for (HeldFile* file : {&held, &plain}) {
                std::vector<iovec> buffers{{bytes.data(), half}, {bytes.data() + half, bytes.size() - half}};
                bytes.empty() ? file->set_size(address) : file->write_at(address, buffers);
            }
        }
        held.close();
        plain.close();
        ASSERT_EQ(File::open_read(path("held")).read_all(), File::open_read(path("plain")).read_all()) << "round " << round;
    }
}

TEST_F(HeldFileTest, SmallPartIsWrittenAtOnce) {
    HeldFile file(File::create(path("small")), true);
    file.reserve(0, 20'000);
    std::vector<char> array(16'384);
    std::iota(array.begin(), array.end(), '\0');
    file.write_at(4096, array.data(), array.size());
    file.write_at(20'480, "seal", 4);
    file.write_at(0, "superblock", 10);
    EXPECT_EQ(File::open_read(path("small")).size_bytes(), 0u) << "until it is closed";
    file.close();
    const std::string found = File::open_read(path("small")).read_all();
    EXPECT_EQ(found, "superblock" + std::string(4086, '\0') + std::string(array.begin(), array.end()) + "seal");
}

TEST_F(HeldFileTest, WhatIsSyncedIsThere) {
    HeldFile file(File::create(path("synced")), true);
    file.write_at(0, "first", 5);
    EXPECT_EQ(file.size_bytes(), 5u);
    file.sync();
    EXPECT_EQ(File::open_read(path("synced")).read_all(), "first");
    file.write_at(5, " second", 7);
    EXPECT_EQ(File::open_read(path("synced")).read_all(), "first second");
}

TEST_F(HeldFileTest, ErrorComesAtTheLatestWithClose) {
    File::create(path("file")).close();
    HeldFile file(File::open_read(path("file")), true);
    file.write_at(0, "x", 1);
    EXPECT_THROW(file.close(), Error);
}

}  // namespace
}  // namespace tailrace
