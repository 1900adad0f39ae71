#include "trace/counters.hpp"

#include "trace/atomics.hpp"
#include "trace/call_kinds.hpp"
#include "trace/log.hpp"
#include "trace/slots.hpp"

namespace tailrace::trace {
namespace {

// The index of counters: a hash table by file and call. If kProbes probes find no place, the call is counted for all other files
// together.
constexpr uint64_t kKeys = 1u << 20, kProbes = 16;
using Place = std::atomic<Counter*>;
constinit std::atomic<void*> index_memory = nullptr;

constexpr char kOtherFilesName[] = "(other files)";
constexpr uint64_t kOtherFiles = hash_of(kOtherFilesName, sizeof kOtherFilesName - 1);

Place& place_of(Place* index, uint64_t file, uint16_t call, uint64_t probe) {
    const uint64_t hash = (file ^ uint64_t{call} << 48) * 0x9E3779B97F4A7C15;
    return index[((hash >> 40) + probe) % kKeys];
}

bool is_of(const Counter& counter, uint64_t file, uint16_t call) {
    return counter.file == file && counter.counted_call == call && as_atomic(const_cast<Counter&>(counter).ended).load() == 0;
}

Counter* make_counter(ProcessState& process, uint64_t file, uint16_t call) {
    auto* made = static_cast<Counter*>(claim_shared_slots(process, process.counters, ChunkKind::counters, 2, kNoLimit));
    if (made == nullptr) return nullptr;
    made->file = file;
    made->counted_call = call;
    return made;
}

// The counter of a file and a call; nullptr: there is none and none can be made.
Counter* counter_of(ProcessState& process, Place* index, uint64_t file, uint16_t call) {
    Counter* made = nullptr;
    for (uint64_t probe = 0; probe < kProbes; ++probe) {
        Place& place = place_of(index, file, call, probe);
        Counter* there = place.load(std::memory_order_acquire);
        if (there != nullptr && is_of(*there, file, call)) return there;
        if (there != nullptr && as_atomic(there->ended).load() == 0) continue;
        if (made == nullptr) made = make_counter(process, file, call);
        if (made == nullptr) return nullptr;
        if (place.compare_exchange_strong(there, made)) return made;
        if (there != nullptr && is_of(*there, file, call)) return there;
    }
    return nullptr;
}

void add_event(Counter& counter, const Event& event) {
    as_atomic(counter.call).store(static_cast<uint16_t>(Call::counter));
    add(counter.busy_ns, event.end_ns - event.begin_ns);
    if (event.result < 0) add(counter.failed, 1);
    const Direction direction = kind_of(event.call).direction;
    if (direction != Direction::none) {
        const bool reads = direction == Direction::read;
        if (event.result > 0) add(reads ? counter.bytes_read : counter.bytes_written, static_cast<uint64_t>(event.result));
        add(reads ? counter.reads : counter.writes, 1);
    }
    uint64_t not_set = 0;  // these two are approximate: threads may overtake each other
    as_atomic(counter.first_ns).compare_exchange_strong(not_set, event.begin_ns);
    as_atomic(counter.last_ns).store(event.end_ns);
    add(counter.calls, 1);
}

Place* index_of_counters() { return static_cast<Place*>(process_memory(index_memory, kKeys * sizeof(Place))); }

}  // namespace

void prepare_counters(ProcessState& process) {
    if (as_atomic(process.counters.end).load(std::memory_order_relaxed) != 0) return;
    Place* index = index_of_counters();
    if (index == nullptr || counter_of(process, index, kOtherFiles, 0) == nullptr) return;
    name_id(kOtherFilesName, sizeof kOtherFilesName - 1);
    // Claims the chunk; the slot stays empty.
    claim_slots_beyond_budget(process, 1);
}

void count_event(ProcessState& process, const Event& event) {
    add(process.header->room.dropped_events, 1);
    Place* index = index_of_counters();
    if (index == nullptr) return;
    prepare_counters(process);
    Counter* counter = counter_of(process, index, event.file, event.call);
    if (counter == nullptr) counter = counter_of(process, index, kOtherFiles, 0);
    if (counter != nullptr) add_event(*counter, event);
}

void end_counters_of(ProcessState& process, uint64_t file) {
    if (as_atomic(process.counters.end).load(std::memory_order_relaxed) == 0) return;
    Place* index = index_of_counters();
    for (uint16_t call = 0; index != nullptr && call < kCallNumbers; ++call)
        for (uint64_t probe = 0; probe < kProbes; ++probe) {
            Counter* there = place_of(index, file, call, probe).load(std::memory_order_acquire);
            if (there == nullptr) break;
            if (is_of(*there, file, call)) as_atomic(there->ended).store(1);
        }
}

}  // namespace tailrace::trace
