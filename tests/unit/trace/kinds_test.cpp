// Numbers and names of calls, launchers, digits, the kernel's counts, the clock.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <set>
#include <string>

#include "trace/call_kinds.hpp"
#include "trace/clock.hpp"
#include "trace/kernel.hpp"
#include "trace/log.hpp"
#include "trace/process.hpp"

namespace tailrace::trace {
namespace {

struct Named {
    const char* name;
    uint16_t number;
};
constexpr Named kCalls[] = {
#define TAILRACE_CALL(name, number, group) {#name, number},
#include "trace/calls.def"
#undef TAILRACE_CALL
};

TEST(Calls, each_has_a_number_of_its_own_below_the_bound) {
    std::set<uint16_t> numbers;
    std::set<std::string> names;
    for (const Named& call : kCalls) {
        EXPECT_GT(call.number, 0) << call.name;
        EXPECT_LT(call.number, kCallNumbers) << call.name;
        EXPECT_TRUE(numbers.insert(call.number).second) << call.name;
        EXPECT_TRUE(names.insert(call.name).second) << call.name;
        EXPECT_STREQ(name_of(static_cast<Call>(call.number)), call.name);
    }
}

TEST(Calls, kinds_are_those_of_their_names) {
    const auto direction = [](Call call) { return kind_of(static_cast<uint16_t>(call)).direction; };
    EXPECT_EQ(direction(Call::write), Direction::write);
    EXPECT_EQ(direction(Call::pwrite), Direction::write);
    EXPECT_EQ(direction(Call::read), Direction::read);
    EXPECT_EQ(direction(Call::open), Direction::none);
    EXPECT_TRUE(is_kept(kind_of(static_cast<uint16_t>(Call::rename))));
    EXPECT_FALSE(is_kept(kind_of(static_cast<uint16_t>(Call::write))));
}

TEST(Launchers, are_known_by_the_last_part_of_the_path) {
    EXPECT_TRUE(is_launcher("/usr/bin/mpirun"));
    EXPECT_TRUE(is_launcher("srun"));
    EXPECT_FALSE(is_launcher("/opt/mpirun/model"));
    EXPECT_FALSE(is_launcher("/usr/bin/mpirun2"));
}

TEST(Digits, what_is_none_gives_the_other_value) {
    EXPECT_EQ(number_at("4096 kB", 7), 4096u);
    EXPECT_EQ(number_at("0", 7), 0u);
    for (const char* text : {"", "-1", " 1", "x", static_cast<const char*>(nullptr)}) EXPECT_EQ(number_at(text, 7), 7u);
}

TEST(Kernel, counts_the_calls_of_this_process) {
    const KernelCountsNow before = kernel_counts_now();
    const int null = open("/dev/null", O_WRONLY);
    for (int k = 0; k < 10; ++k) ASSERT_EQ(write(null, "12345", 5), 5);
    close(null);
    const KernelCountsNow after = kernel_counts_now();
    EXPECT_EQ(after.process.write_calls - before.process.write_calls, 10u);
    EXPECT_EQ(after.process.written_bytes - before.process.written_bytes, 50u);
    EXPECT_EQ(after.thread.write_calls - before.thread.write_calls, 10u);
    // What reading the counts has read before is in them.
    EXPECT_EQ(after.process.read_bytes - before.process.read_bytes, before.own_reads.read_bytes);
    EXPECT_EQ(after.process.read_calls - before.process.read_calls, before.own_reads.read_calls);
}

TEST(Clock, stays_with_that_of_the_kernel) {
    use_tick_counter();
    uint64_t last = 0;
    for (int k = 0; k < 200'000; ++k) {
        timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        const uint64_t now = now_ns();
        clock_gettime(CLOCK_MONOTONIC, &after);
        const auto ns = [](const timespec& t) {
            return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
        };
        ASSERT_GE(now + 1000, last);
        ASSERT_GE(now + 10'000, ns(before));
        ASSERT_LE(now, ns(after) + 10'000);
        last = now;
    }
}

}  // namespace
}  // namespace tailrace::trace
