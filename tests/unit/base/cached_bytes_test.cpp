#include "base/cached_bytes.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "../error_of.hpp"
#include "../temporary_directory.hpp"
#include "base/file.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMiB = 1u << 20;

class CachedBytesTest : public testing::TestWithParam<const char*> {
protected:
    CachedBytesTest() : values_(20 * kMiB + 4711), file_(File::create(directory_ / "file")) {
        for (size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<char>((i * 7 + (i >> 12)) % 251);
        file_.write_at(0, values_.data(), values_.size());
    }
    std::vector<char> read(uint64_t address, uint64_t bytes) {
        std::vector<char> got(bytes, '\x7f');
        file_.read_stable_at(address, got.data(), bytes);
        return got;
    }
    std::vector<char> expected(uint64_t address, uint64_t bytes) {
        const auto from = values_.begin() + static_cast<long>(address);
        return {from, from + static_cast<long>(bytes)};
    }
    TemporaryDirectory directory_{GetParam()};
    std::vector<char> values_;
    File file_;
};

TEST_P(CachedBytesTest, AreTheFilesBytesAtAnyAddress) {
    for (const uint64_t address : {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{4096}, 3 * kMiB + 17})
        for (const uint64_t bytes : {kMiB, kMiB + 1, 17 * kMiB - 13}) {
            const auto cached = file_.cached(address, bytes);
            ASSERT_TRUE(cached) << address << ", " << bytes;
            EXPECT_EQ(std::memcmp(cached->data(), values_.data() + address, bytes), 0);
            EXPECT_TRUE(cached->are_still_there());
            EXPECT_EQ(read(address, bytes), expected(address, bytes));
        }
}

TEST_P(CachedBytesTest, FewAreRead) { EXPECT_FALSE(file_.cached(0, 64u << 10)); }

// The kernel tells them that all is cached, so they read.
TEST_P(CachedBytesTest, OthersRead) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    ASSERT_TRUE(file_.cached(0, 2 * kMiB));
    ASSERT_EQ(::seteuid(65534), 0);
    const bool found = file_.cached(0, 2 * kMiB).has_value();
    const std::vector<char> got = read(0, 2 * kMiB);
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_FALSE(found);
    EXPECT_EQ(got, expected(0, 2 * kMiB));
}

TEST_P(CachedBytesTest, BytesBehindTheEndAreNotZeros) {
    EXPECT_FALSE(file_.cached(19 * kMiB, 2 * kMiB));
    std::vector<char> into(2 * kMiB);
    const auto error = error_of([&] { file_.read_stable_at(19 * kMiB, into.data(), into.size()); });
    EXPECT_EQ(error.status(), Status::CORRUPT);
}

TEST_P(CachedBytesTest, AFileThatIsCutMeanwhileIsNoticed) {
    const auto cached = file_.cached(0, 2 * kMiB);
    ASSERT_TRUE(cached);
    file_.set_size(2 * kMiB - 1);
    EXPECT_FALSE(cached->are_still_there());
}

TEST_P(CachedBytesTest, BuffersOfAVectorMayBeLongAndShort) {
    std::vector<char> a(100), b(2 * kMiB), c(5), d(18 * kMiB);
    std::vector<iovec> buffers{{a.data(), a.size()}, {b.data(), b.size()}, {c.data(), c.size()}, {d.data(), d.size()}};
    file_.read_stable_at(9, buffers);
    std::vector<char> all;
    for (const auto* part : {&a, &b, &c, &d}) all.insert(all.end(), part->begin(), part->end());
    EXPECT_EQ(all, expected(9, all.size()));
}

INSTANTIATE_TEST_SUITE_P(Storage, CachedBytesTest, testing::Values("/tmp", "/dev/shm"));

TEST(CachedBytes, WhatIsOnTheDeviceOnlyIsRead) {
    const TemporaryDirectory directory("/tmp");
    File file = File::create(directory / "file");
    const std::vector<char> values(8 * kMiB, 'x');
    file.write_at(0, values.data(), values.size());
    file.sync();
    const int descriptor = ::open((directory / "file").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED), 0);
    ::close(descriptor);
    if (file.cached(0, values.size())) GTEST_SKIP() << "/tmp has no device: its pages do not leave";
    std::vector<char> got(values.size());
    file.read_stable_at(0, got.data(), got.size());
    EXPECT_EQ(got, values);
    EXPECT_TRUE(file.cached(0, values.size()));  // they are in the page cache now
}

}  // namespace
}  // namespace tailrace
