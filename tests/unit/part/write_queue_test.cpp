// A write queue does its work later, in order; it copies the bytes; an error stops all later work; its memory is bounded.
#include "part/write_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <numeric>

#include "../error_of.hpp"
#include "part/part_file.hpp"
#include "part_files.hpp"

namespace tailrace {
namespace {

using test::pattern;

constexpr size_t kPiece = 1'000'000;

void write_pieces(PartWriter& writer, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        const auto bytes = pattern(kPiece, k);
        writer.add(k * kPiece, bytes.data(), kPiece);
        writer.flush();
    }
}

void expect_pieces(const HeldFile& file, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        std::vector<std::byte> found(kPiece);
        file.read_at(k * kPiece, found.data(), kPiece);
        ASSERT_EQ(found, pattern(kPiece, k)) << k;
    }
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
    EXPECT_EQ(queue.completed_ok(), 1000u);
}

TEST(WriteQueue, the_caller_may_change_its_bytes) {
    const auto file = std::make_shared<HeldFile>(File::create("copied"), false);
    std::promise<void> go;  // outlives the thread that waits for it
    WriteQueue queue({1u << 20, ""});
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
    const auto file = std::make_shared<HeldFile>(File::create("bound"), false);
    WriteQueue queue({1u << 20, ""});
    PartWriter writer(queue, file, false);
    write_pieces(writer, 40);
    queue.wait();
    EXPECT_LE(queue.usage().window_bytes, 1u << 20);
    expect_pieces(*file, 40);
}

TEST(WriteQueue, spills_what_has_no_room) {
    const auto file = std::make_shared<HeldFile>(File::create("spilled"), false);
    std::promise<void> go;  // outlives the thread that waits for it
    WriteQueue queue({1u << 20, "."});
    queue.run([&] { go.get_future().wait(); });
    PartWriter writer(queue, file, true);
    write_pieces(writer, 8);
    EXPECT_GE(queue.usage().spilled_bytes, 6'000'000u);
    EXPECT_EQ(queue.usage().waited_s, 0);
    go.set_value();
    queue.wait();
    EXPECT_LE(queue.usage().window_bytes, 1u << 20);
    expect_pieces(*file, 8);
}

TEST(WriteQueue, tells_whether_there_is_room) {
    std::promise<void> go;  // outlives the thread that waits for it
    WriteQueue queue({1u << 20, ""});
    EXPECT_TRUE(queue.has_room(100u << 20)) << "nothing waits: it goes through piece by piece";
    queue.run([&] { go.get_future().wait(); });
    std::vector<std::byte> bytes(500'000);
    iovec buffer{bytes.data(), bytes.size()};
    queue.run({&buffer, 1}, [](uint64_t, std::span<iovec>) {});
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
    EXPECT_EQ(queue.completed_ok(), 1u);
    EXPECT_EQ(queue.failed_at(), 2u);
    ASSERT_TRUE(queue.error());
    EXPECT_EQ(queue.error()->status(), Status::NO_SPACE);
    EXPECT_STREQ(queue.error()->what(), "the device is full");
}

TEST(WriteQueue, commits_what_was_written_before_an_error) {
    WriteQueue queue({1u << 20, ""});
    std::atomic<int> committed = 0;
    queue.run([] {});
    const uint64_t first = queue.submitted();
    queue.run([] { fail(Status::NO_SPACE, "the device is full"); });
    const uint64_t second = queue.submitted();
    for (const uint64_t after : {first, second}) {
        queue.run([&] { ++committed; }, WriteQueue::Needs::commits_and_work(after));
    }
    queue.wait();
    EXPECT_EQ(committed, 1) << "the data of the second has failed";
    EXPECT_EQ(queue.completed_ok(), first);
    EXPECT_FALSE(queue.commit_failed());
    const auto needs = WriteQueue::Needs::commits_and_work(first);
    queue.run([] { fail(Status::IO_FAILED, "the journal is gone"); }, needs);
    queue.run([&] { ++committed; }, needs);
    queue.wait();
    EXPECT_EQ(committed, 1) << "they follow each other";
    EXPECT_TRUE(queue.commit_failed());
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
    std::promise<void> go;  // outlives the thread that waits for it
    WriteQueue queue({1u << 20, "no/such/directory"});
    queue.run([&] { go.get_future().wait(); });
    std::vector<std::byte> bytes(3u << 20);
    iovec buffer{bytes.data(), bytes.size()};
    EXPECT_THROW(queue.run({&buffer, 1}, [](uint64_t, std::span<iovec>) {}), Error);
    go.set_value();
}

}  // namespace
}  // namespace tailrace
