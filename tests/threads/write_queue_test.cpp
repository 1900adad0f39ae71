// The write queue, the window behind it and the pool of workers, used from several threads at a time.
#include "part/write_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/workers.hpp"

namespace tailrace {
namespace {

constexpr size_t kPieceBytes = 40'000;

// The bytes of piece k.
std::vector<std::byte> piece(size_t k) { return std::vector<std::byte>(kPieceBytes, static_cast<std::byte>(k * 7 + 1)); }

TEST(WriteQueue, bytes_arrive_while_the_caller_changes_its_own) {
    std::vector<std::byte> written(200 * kPieceBytes);
    {
        WriteQueue queue({1u << 20, ""});
        std::vector<std::byte> mine;
        for (size_t k = 0; k < 200; ++k) {
            mine = piece(k);
            iovec span{mine.data(), mine.size()};
            queue.run({&span, 1}, [&written, at = k * kPieceBytes](uint64_t offset, std::span<iovec> spans) {
                for (const iovec& given : spans) {
                    std::memcpy(written.data() + at + offset, given.iov_base, given.iov_len);
                    offset += given.iov_len;
                }
            });
            (void)queue.usage();
            (void)queue.has_room(kPieceBytes);
            (void)queue.completed_ok();
        }
        queue.wait();
        EXPECT_EQ(queue.completed_ok(), queue.submitted());
    }
    for (size_t k = 0; k < 200; ++k) ASSERT_EQ(std::memcmp(written.data() + k * kPieceBytes, piece(k).data(), kPieceBytes), 0) << k;
}

TEST(WriteQueue, an_error_is_seen_by_who_watches) {
    WriteQueue queue({1u << 20, ""});
    std::atomic<bool> ended = false;
    std::thread watcher([&] {
        while (!ended) (void)queue.error(), (void)queue.failed_at(), (void)queue.commit_failed(), std::this_thread::yield();
    });
    int done = 0;
    for (int k = 0; k < 500; ++k)
        queue.run([&done, k] {
            if (k == 300) fail(Status::NO_SPACE, "full");
            ++done;
        });
    queue.wait();
    ended = true;
    watcher.join();
    EXPECT_EQ(done, 300);
    EXPECT_EQ(queue.failed_at(), 301u);
}

TEST(WriteQueue, its_end_waits_for_work) {
    int done = 0;
    {
        WriteQueue queue({1u << 20, ""});
        for (int k = 0; k < 1000; ++k) queue.run([&] { ++done; });
    }
    EXPECT_EQ(done, 1000);
}

TEST(Workers, pieces_of_many_rounds) {
    Workers workers(4, 8);
    std::vector<int> times(2000);
    for (int round = 0; round < 3; ++round) {
        for (int& one : times) workers.submit([&one](size_t) { ++one; });
        workers.wait();
        for (const int one : times) ASSERT_EQ(one, round + 1);
    }
}

}  // namespace
}  // namespace tailrace
