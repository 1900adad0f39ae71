// Threads that record calls and names at a time, the same ones and new ones, until the log's budget is spent and beyond. The log
// goes to the folder TAILRACE_TRACE; who started this program reads it and compares the counts.
#include "trace/log.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace tailrace::trace {
namespace {

constexpr int kThreads = 4, kCalls = 5000;

TEST(Log, threads_record_at_a_time) {
    ASSERT_TRUE(is_recording()) << "TAILRACE_TRACE names a folder";
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([thread] {
            for (int k = 0; k < kCalls; ++k) {
                const std::string shared = "/shared/" + std::to_string(k % 50);
                const std::string own = "/own/" + std::to_string(thread) + "/" + std::to_string(k % 200);
                const std::string& name = k % 2 == 0 ? shared : own;
                Event event{};
                event.begin_ns = now_ns();
                event.end_ns = event.begin_ns + 10;
                event.call = static_cast<uint16_t>(Call::write);
                event.descriptor = 3;
                event.file = name_id(name.data(), name.size());
                event.offset = kNoOffset;
                event.bytes = 64;
                event.result = 64;
                record(event);
            }
        });
    for (std::thread& thread : threads) thread.join();
    end_log();
}

}  // namespace
}  // namespace tailrace::trace
