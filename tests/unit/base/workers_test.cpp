// All pieces are done once, by several threads; the first error ends it; what waits is bounded.
#include "base/workers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>

#include "../error_of.hpp"

namespace tailrace {
namespace {

TEST(Workers, each_piece_is_done_once) {
    std::vector<std::atomic<int>> done(1000);
    std::vector<std::atomic<int>> by_thread(3);
    Workers workers(3, 4);
    for (auto& piece : done)
        workers.submit([&](size_t thread) {
            ++piece;
            ++by_thread[thread];
        });
    workers.wait();
    for (const auto& piece : done) EXPECT_EQ(piece, 1);
    EXPECT_EQ(by_thread[0] + by_thread[1] + by_thread[2], 1000);
    workers.submit([&](size_t) { ++done[0]; });
    workers.wait();
    EXPECT_EQ(done[0], 2) << "it can be used further";
}

TEST(Workers, the_first_error_is_told_and_ends_it) {
    std::atomic<int> done = 0;
    Workers workers(2, 2);
    const auto ask_many = [&] {
        workers.submit([](size_t) { fail(Status::NO_SPACE, "full"); });
        for (int k = 0; k < 1000; ++k) workers.submit([&](size_t) { ++done; });
        workers.wait();
    };
    EXPECT_EQ(error_of(ask_many).status(), Status::NO_SPACE);
    EXPECT_LT(done, 1000);
    EXPECT_EQ(error_of([&] { workers.wait(); }).status(), Status::NO_SPACE);
}

TEST(Workers, what_has_not_begun_is_left) {
    std::promise<void> go;
    std::shared_future<void> gone = go.get_future().share();
    std::atomic<int> done = 0;
    {
        Workers workers(1, 8);
        workers.submit([gone](size_t) { gone.wait(); });
        for (int k = 0; k < 5; ++k) workers.submit([&](size_t) { ++done; });
        go.set_value();
    }
    EXPECT_LE(done, 5);
}

TEST(Workers, each_index_is_done_once) {
    for (const size_t threads : {0, 1, 3, 2000}) {
        std::vector<std::atomic<int>> done(1000);
        for_each_index(done.size(), threads, [&](size_t index, size_t thread) {
            EXPECT_LT(thread, std::max<size_t>(threads, 1));
            ++done[index];
        });
        for (const auto& index : done) EXPECT_EQ(index, 1);
    }
    for_each_index(0, 4, [](size_t, size_t) { FAIL() << "there is no index"; });
}

TEST(Workers, no_index_begins_after_an_error) {
    std::atomic<size_t> done = 0;
    const auto fail_early = [&] {
        for_each_index(1000000, 4, [&](size_t index, size_t) {
            if (index == 10) fail(Status::NO_SPACE, "full");
            ++done;
        });
    };
    EXPECT_EQ(error_of(fail_early).status(), Status::NO_SPACE);
    EXPECT_LT(done, 1000000);
}

}  // namespace
}  // namespace tailrace
