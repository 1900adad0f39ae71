#include "trace/counters.hpp"

#include "trace/atomics.hpp"
#include "trace/log.hpp"
#include "trace/raw.hpp"
#include "trace/slots.hpp"

namespace tailrace::trace {
namespace {

// Of a chunk of counters: hashed by file, but for the last two.
constexpr uint32_t kCounters = kSlotsOfChunk / 2 - 1, kWithoutFile = kCounters - 2, kOtherFiles = kCounters - 1;
constexpr char kOtherFilesName[] = "(other files)";

enum class Direction : uint8_t { none, read, write };

consteval bool ends_with(const char* text, const char* end) {
    uint64_t length = 0, end_length = 0;
    while (text[length] != '\0') ++length;
    while (end[end_length] != '\0') ++end_length;
    if (length < end_length) return false;
    for (uint64_t i = 0; i < end_length; ++i)
        if (text[length - end_length + i] != end[i]) return false;
    return true;
}
consteval Direction direction_of_group(const char* group) {
    return ends_with(group, "read") ? Direction::read : ends_with(group, "write") ? Direction::write : Direction::none;
}

Direction direction_of(uint16_t call) {
    switch (call) {
#define TAILRACE_CALL(name, number, group)                          \
    case number: {                                                  \
        constexpr Direction direction = direction_of_group(#group); \
        return direction;                                           \
    }
#include "trace/calls.def"
#undef TAILRACE_CALL
        default: return Direction::none;
    }
}

Counter& counter_of(Counter* counters, uint64_t file) {
    if (file == 0) return counters[kWithoutFile];
    for (uint64_t probe = 0; probe < kWithoutFile; ++probe) {
        Counter& counter = counters[(file + probe) % kWithoutFile];
        uint64_t free = 0;
        if (as_atomic(counter.file).load() == file || as_atomic(counter.file).compare_exchange_strong(free, file) || free == file)
            return counter;
    }
    Counter& others = counters[kOtherFiles];
    as_atomic(others.file).store(name_id(kOtherFilesName, sizeof kOtherFilesName - 1));
    return others;
}

}  // namespace

Counter* counters_of(ProcessState& process) {
    Mode before = process.mode.load();
    if (before < Mode::making_counters && process.mode.compare_exchange_strong(before, Mode::making_counters)) {
        bool is_transient = false;
        auto* chunk = reinterpret_cast<char*>(claim_chunk(process, 1, process.chunk_limit, is_transient));
        if (is_transient) {
            process.mode.store(Mode::full);
            return nullptr;
        }
        if (chunk != nullptr) process.counters.store(reinterpret_cast<Counter*>(chunk + 2 * kSlotBytes));
        if (const ChunkHead* names = claim_chunk(process, 0, process.chunk_limit, is_transient)) {
            process.reserved_end = reinterpret_cast<uint64_t>(names) + kChunkBytes;
            process.reserved_next.store(reinterpret_cast<uint64_t>(names) + kSlotBytes);
        }
        process.mode.store(Mode::counting);
    }
    // A bounded wait: this may be a signal handler that interrupted the maker, which then never comes to its end.
    constexpr int kMostYields = 10'000;
    for (int yields = 0; process.mode.load() == Mode::making_counters && yields < kMostYields; ++yields) raw::call(SYS_sched_yield);
    return process.counters.load();
}

void count_event(ProcessState& process, const Event& event) {
    add(process.header->room.dropped_events, 1);
    Counter* const counters = stores_events(process) ? nullptr : counters_of(process);
    if (counters == nullptr) return;
    Counter& counter = counter_of(counters, event.file);
    as_atomic(counter.call).store(static_cast<uint16_t>(Call::counter));
    add(counter.calls, 1);
    add(counter.busy_ns, event.end_ns - event.begin_ns);
    if (event.result < 0) add(counter.failed, 1);
    const Direction direction = direction_of(event.call);
    if (direction != Direction::none) {
        const bool reads = direction == Direction::read;
        add(reads ? counter.reads : counter.writes, 1);
        if (event.result > 0) add(reads ? counter.bytes_read : counter.bytes_written, static_cast<uint64_t>(event.result));
    }
    uint64_t not_set = 0;  // these two are approximate: threads may overtake each other
    as_atomic(counter.first_ns).compare_exchange_strong(not_set, event.begin_ns);
    as_atomic(counter.last_ns).store(event.end_ns);
}

}  // namespace tailrace::trace
