// The table of open handles of libraries: kept, found, removed, full; used from several threads.
#include "preload/handles.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tailrace::preload {
namespace {

TEST(Handles, found_until_removed) {
    const auto handles = std::make_unique<Handles>();
    EXPECT_TRUE(handles->is_empty());
    handles->put(1, 100);
    handles->put(2, 200);
    handles->put(1, 101);
    EXPECT_EQ(handles->find(1), 101u);
    EXPECT_EQ(handles->find(2), 200u);
    EXPECT_EQ(handles->find(3), 0u);
    handles->remove(1);
    handles->remove(3);
    EXPECT_EQ(handles->find(1), 0u);
    EXPECT_EQ(handles->find(2), 200u) << "behind a removed one";
    handles->remove(2);
    EXPECT_TRUE(handles->is_empty());
}

TEST(Handles, more_than_it_holds_are_not_kept) {
    const auto handles = std::make_unique<Handles>();
    for (Word handle = 1; handle <= Handles::kMost + 10; ++handle) handles->put(handle, static_cast<uint64_t>(handle));
    for (Word handle = 1; handle <= Handles::kMost; ++handle) EXPECT_EQ(handles->find(handle), static_cast<uint64_t>(handle));
    EXPECT_EQ(handles->find(Handles::kMost + 1), 0u);
    handles->remove(5);
    handles->put(9999, 1);
    EXPECT_EQ(handles->find(9999), 1u) << "in the room of a removed one";
}

TEST(Handles, threads_have_handles_of_their_own) {
    const auto handles = std::make_unique<Handles>();
    std::vector<std::thread> threads;
    for (Word thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (Word k = 0; k < 20'000; ++k) {
                const Word handle = 1 + thread * 1000 + k % 7;
                handles->put(handle, static_cast<uint64_t>(handle + k));
                ASSERT_EQ(handles->find(handle), static_cast<uint64_t>(handle + k));
                handles->remove(handle);
                ASSERT_EQ(handles->find(handle), 0u);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(handles->is_empty());
}

}  // namespace
}  // namespace tailrace::preload
