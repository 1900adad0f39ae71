// What a log of any size limit records: each call is an event, or in a merged record, or in a counter. tests/unit/test_unit.py runs
// each test as a process of its own, in a folder of its own.
#include "trace/log.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tailrace::trace {
namespace {

namespace fs = std::filesystem;

struct Found {
    uint64_t events = 0, merged_calls = 0, counted_calls = 0, names = 0, dropped_events = 0, bytes = 0;
    uint64_t calls() const { return events + merged_calls + counted_calls; }
};

// Reads logs as docs/trace-log.md describes them.
Found read_logs(const fs::path& folder) {
    Found found;
    for (const auto& log : fs::directory_iterator(folder)) {
        std::ifstream file(log.path(), std::ios::binary);
        const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
        Header header;
        EXPECT_GE(bytes.size(), sizeof header);
        std::memcpy(&header, bytes.data(), sizeof header);
        EXPECT_EQ(std::memcmp(header.magic, kMagic, sizeof kMagic), 0);
        found.dropped_events += header.room.dropped_events;
        for (size_t at = kHeaderBytes; at + kSlotBytes <= bytes.size();) {
            Event event;
            std::memcpy(&event, bytes.data() + at, sizeof event);
            uint32_t slots = 1;
            if (event.call == static_cast<uint16_t>(Call::name)) {
                Name name;
                std::memcpy(&name, bytes.data() + at, sizeof name);
                slots = name.slots;
                ++found.names;
            } else if (event.call == static_cast<uint16_t>(Call::merged)) {
                Merged merged;
                std::memcpy(&merged, bytes.data() + at, sizeof merged);
                slots = sizeof merged / kSlotBytes;
                found.merged_calls += merged.calls;
                found.bytes += merged.sums[merged.calls % 2].bytes;
            } else if (event.call == static_cast<uint16_t>(Call::counter)) {
                Counter counter;
                std::memcpy(&counter, bytes.data() + at, sizeof counter);
                slots = sizeof counter / kSlotBytes;
                found.counted_calls += counter.calls;
                found.bytes += counter.bytes_written;
            } else if (event.call != static_cast<uint16_t>(Call::none) && event.call != static_cast<uint16_t>(Call::chunk)) {
                ++found.events;
                found.bytes += event.bytes;
            }
            at += slots * kSlotBytes;
        }
    }
    return found;
}

class Log : public testing::Test {
protected:
    void begin(uint64_t budget_bytes) {
        fs::create_directory("logs");
        setenv("TAILRACE_TRACE", "logs", 1);
        setenv("TAILRACE_TRACE_BYTES", std::to_string(budget_bytes).c_str(), 1);
        ASSERT_TRUE(is_recording());
    }
    void TearDown() override { fs::remove_all("logs"); }

    static void write_to(const std::string& name, uint64_t bytes = 8) {
        Event event{};
        event.begin_ns = now_ns();
        event.end_ns = event.begin_ns + 5;
        event.call = static_cast<uint16_t>(Call::write);
        event.descriptor = 3;
        event.file = name_id(name.data(), name.size());
        event.offset = kNoOffset;
        event.bytes = bytes;
        event.result = static_cast<int64_t>(bytes);
        record(event);
    }
};

TEST_F(Log, a_name_is_stored_once_however_long) {
    begin(4u << 20);
    const std::string long_name(1000, 'n');
    for (int k = 0; k < 5; ++k) write_to("/short"), write_to(long_name);
    const Found found = read_logs("logs");
    EXPECT_EQ(found.names, 2u);
    EXPECT_EQ(found.events, 10u);
    EXPECT_NE(name_id("/short", 6), name_id("/other", 6));
    EXPECT_EQ(name_id("/short", 6), name_id("/short", 6));
}

TEST_F(Log, like_calls_are_merged_when_room_is_scarce) {
    begin(16 * kChunkBytes);
    for (int k = 0; k < 50'000; ++k) write_to("/one");
    const Found found = read_logs("logs");
    EXPECT_EQ(found.calls(), 50'000u);
    EXPECT_EQ(found.bytes, 400'000u);
    EXPECT_GT(found.merged_calls, 10'000u);
}

TEST_F(Log, calls_on_many_files_are_counted_when_the_budget_is_spent) {
    begin(6 * kChunkBytes);
    for (int k = 0; k < 20'000; ++k) write_to("/file" + std::to_string(k % 300), static_cast<uint64_t>(k % 10));
    const Found found = read_logs("logs");
    EXPECT_EQ(found.calls(), 20'000u);
    EXPECT_EQ(found.bytes, 90'000u);
    EXPECT_GT(found.counted_calls, 0u);
}

TEST_F(Log, a_child_has_a_log_of_its_own) {
    begin(4u << 20);
    for (int k = 0; k < 3; ++k) write_to("/parent");
    const pid_t child = fork();
    if (child == 0) {
        for (int k = 0; k < 4; ++k) write_to("/child");
        _exit(has_own_log() ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(std::distance(fs::directory_iterator("logs"), {}), 2);
    EXPECT_EQ(read_logs("logs").events, 7u);
}

TEST(NoLog, without_a_folder_nothing_is_recorded) {
    unsetenv("TAILRACE_TRACE");
    EXPECT_FALSE(is_recording());
    record({});
    end_log();
}

TEST(NoLog, a_folder_that_is_none_stops_nothing) {
    setenv("TAILRACE_TRACE", "/dev/null/not-a-folder", 1);
    EXPECT_FALSE(is_recording());
    record({});
    end_log();
}

}  // namespace
}  // namespace tailrace::trace
