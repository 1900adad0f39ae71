// What is asked of a queue is done in order, later; bytes are copied; an error stops what comes after it; memory has a bound.
#include "part/write_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <numeric>

#include "../error_of.hpp"
#include "part/part_file.hpp"

namespace tailrace {
namespace {

std::vector<std::byte> pattern(size_t bytes, size_t seed) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>((i * 31 + seed * 97 + (i >> 8)) % 251);
    return data;
}

TEST(WriteQueue, at_once_is_at_once) {
    WriteQueue queue;
    int done = 0;
    queue.run([&] { done = 1; });
    EXPECT_EQ(done, 1);
    EXPECT_THROW(queue.run([] { fail(Status::IO_FAILED, "no"); }), Error);
    EXPECT_EQ(queue.error(), std::nullopt);
}

TEST(WriteQueue, keeps_the_order) {
    WriteQueue queue({1u << 20, ""});
    std::vector<int> order;
    for (int i = 0; i < 1000; ++i) queue.run([&, i] { order.push_back(i); });
    queue.wait();
    std::vector<int> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(order, expected);
    EXPECT_EQ(queue.done_well(), 1000u);
}

TEST(WriteQueue, the_caller_may_change_its_bytes) {
    const auto file = std::make_shared<File>(File::create("copied"));
    WriteQueue queue({1u << 20, ""});
    std::promise<void> go;
    queue.run([&] { go.get_future().wait(); });
    std::vector<std::byte> bytes = pattern(300'000, 1);
    const std::vector<std::byte> as_put = bytes;
    PartWriter writer(queue, file, true);
    writer.add(4096, bytes.data(), bytes.size());
    writer.flush();
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    EXPECT_EQ(file->size_bytes(), 0u);
    go.set_value();
    queue.wait();
    std::vector<std::byte> found(as_put.size());
    file->read_at(4096, found.data(), found.size());
    EXPECT_EQ(found, as_put);
    ASSERT_EQ(writer.records().size(), 1u);
    EXPECT_EQ(writer.records()[0].sum, Checksum::of(as_put.data(), as_put.size()));
}

TEST(WriteQueue, memory_has_a_bound) {
    const auto file = std::make_shared<File>(File::create("bound"));
    WriteQueue queue({1u << 20, ""});
    PartWriter writer(queue, file, false);
    for (size_t k = 0; k < 40; ++k) {
        const auto bytes = pattern(1'000'000, k);
        writer.add(k * bytes.size(), bytes.data(), bytes.size());
        writer.flush();
    }
    queue.wait();
    EXPECT_LE(queue.usage().window_bytes, 1u << 20);
    for (size_t k = 0; k < 40; ++k) {
        std::vector<std::byte> found(1'000'000);
        file->read_at(k * found.size(), found.data(), found.size());
        ASSERT_EQ(found, pattern(1'000'000, k)) << k;
    }
}

TEST(WriteQueue, spills_what_has_no_room) {
    const auto file = std::make_shared<File>(File::create("spilled"));
    WriteQueue queue({1u << 20, "."});
    std::promise<void> go;
    queue.run([&] { go.get_future().wait(); });
    PartWriter writer(queue, file, true);
    for (size_t k = 0; k < 8; ++k) {
        const auto bytes = pattern(1'000'000, k);
        writer.add(k * bytes.size(), bytes.data(), bytes.size());
        writer.flush();
    }
    EXPECT_GE(queue.usage().spilled_bytes, 6'000'000u);
    EXPECT_EQ(queue.usage().waited_s, 0);
    go.set_value();
    queue.wait();
    EXPECT_LE(queue.usage().window_bytes, 1u << 20);
    for (size_t k = 0; k < 8; ++k) {
        std::vector<std::byte> found(1'000'000);
        file->read_at(k * found.size(), found.data(), found.size());
        ASSERT_EQ(found, pattern(1'000'000, k)) << k;
    }
}

TEST(WriteQueue, tells_whether_there_is_room) {
    WriteQueue queue({1u << 20, ""});
    EXPECT_TRUE(queue.has_room(100u << 20)) << "nothing waits: it goes through piece by piece";
    std::promise<void> go;
    queue.run([&] { go.get_future().wait(); });
    std::vector<std::byte> bytes(500'000);
    iovec piece{bytes.data(), bytes.size()};
    queue.run({&piece, 1}, [](uint64_t, std::span<iovec>) {});
    EXPECT_FALSE(queue.has_room(500'000));
    go.set_value();
    queue.wait();
}

TEST(WriteQueue, nothing_is_done_after_an_error) {
    WriteQueue queue({1u << 20, ""});
    std::atomic<int> done = 0;
    queue.run([&] { ++done; });
    queue.run([] { fail(Status::NO_SPACE, "the device is full"); });
    for (int i = 0; i < 5; ++i) queue.run([&] { ++done; });
    queue.wait();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(queue.done_well(), 1u);
    EXPECT_EQ(queue.failed_at(), 2u);
    ASSERT_TRUE(queue.error());
    EXPECT_EQ(queue.error()->status(), Status::NO_SPACE);
    EXPECT_STREQ(queue.error()->what(), "the device is full");
}

TEST(WriteQueue, ends_when_all_is_done) {
    std::atomic<int> done = 0;
    {
        WriteQueue queue({1u << 20, ""});
        for (int i = 0; i < 100; ++i) queue.run([&] { ++done; });
    }
    EXPECT_EQ(done, 100);
}

TEST(WriteQueue, a_spill_directory_that_is_none_is_an_error) {
    WriteQueue queue({1u << 20, "no/such/directory"});
    std::promise<void> go;
    queue.run([&] { go.get_future().wait(); });
    std::vector<std::byte> bytes(3u << 20);
    iovec piece{bytes.data(), bytes.size()};
    EXPECT_THROW(queue.run({&piece, 1}, [](uint64_t, std::span<iovec>) {}), Error);
    go.set_value();
}

}  // namespace
}  // namespace tailrace
