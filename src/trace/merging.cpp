#include "trace/merging.hpp"

#include <bit>

#include "trace/atomics.hpp"
#include "trace/call_kinds.hpp"
#include "trace/counters.hpp"
#include "trace/slots.hpp"

namespace tailrace::trace {
namespace {

constexpr uint64_t kPeriodNs = 1'000'000'000, kLongCallNs = 1'000'000;
constexpr uint64_t kLeastCutNs = 100'000'000;  // the end of an unmarked phase ends only records that are at least so long
constexpr int32_t kMostShift = 10;
constexpr uint64_t kMostCalls = uint64_t{1} << 31;  // the most calls of a record, because its bins have 32 bits
constexpr unsigned kSets = 8, kWays = 8;            // size of the table of open records

// The open records of a thread, by the hash of their key. The first call with a key is an event, and only its hash is stored; the
// next call with this key begins a record. A record is as large as seven events, so single calls should not make one.
struct OpenRecords {
    uint64_t hashes[kSets][kWays];
    Merged* records[kSets][kWays];
    uint64_t cut_ns;  // when an unmarked phase ended
    uint32_t generation;
    uint32_t serial;  // of the process in whose log the records are
    uint32_t thread;
    // True during a change, so that a signal handler which interrupts it does not change the same record. Its calls become events.
    bool is_busy;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit OpenRecords open_records = {};

uint64_t mixed(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15) * (b ^ 0xD6E8FEB86659FD93);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

int64_t error_of(const Event& event) { return event.result < 0 ? event.result : 0; }

uint64_t hash_of_key(const Event& event) {
    const uint64_t kind = event.call | uint64_t{event.flags} << 16 | uint64_t{event.descriptor >= 0} << 32;
    const uint64_t hash = mixed(mixed(event.file, event.detail), kind + (static_cast<uint64_t>(-error_of(event)) << 33));
    return hash == 0 ? 1 : hash;
}

uint8_t bin_of(uint64_t value) {
    const auto digits = static_cast<uint32_t>(std::bit_width(value));
    return static_cast<uint8_t>(digits < kBins ? digits : kBins - 1);
}

Merged* make_record(ProcessState& process, const OpenRecords& open, const Event& event) {
    const uint32_t limit = event_chunk_limit(process) + 1;
    auto* made =
        static_cast<Merged*>(claim_shared_slots(process, process.merged, ChunkKind::merged, sizeof(Merged) / kSlotBytes, limit));
    if (made == nullptr) return nullptr;
    made->begin_ns = event.begin_ns;
    made->flags = event.flags;
    made->descriptor = event.descriptor;
    made->file = event.file;
    made->detail = event.detail;
    made->thread = open.thread;
    made->merged_call = event.call;
    made->error = error_of(event);
    made->sums[0].least_size = ~uint64_t{0};
    made->sums[0].least_ns = ~uint32_t{0};
    as_atomic(made->call).store(static_cast<uint16_t>(Call::merged), std::memory_order_release);
    return made;
}

// Adds an event to a record. The new sums are written beside the valid ones; one store makes them valid, so the log of a killed
// process has consistent sums.
void add_event(Merged& record, const Event& event) {
    const uint64_t calls = record.calls, moved = event.result > 0 ? static_cast<uint64_t>(event.result) : 0;
    const uint64_t time_ns = event.end_ns - event.begin_ns;
    const uint64_t size = kind_of(event.call).direction == Direction::none ? event.bytes : moved;
    const auto short_ns = static_cast<uint32_t>(time_ns > ~uint32_t{0} ? ~uint32_t{0} : time_ns);
    const MergedSums& from = record.sums[calls % 2];
    MergedSums& to = record.sums[(calls + 1) % 2];
    to.last_ns = event.end_ns;
    to.bytes = from.bytes + event.bytes;
    to.moved = from.moved + static_cast<int64_t>(moved);
    to.busy_ns = from.busy_ns + time_ns;
    to.least_size = size < from.least_size ? size : from.least_size;
    to.most_size = size > from.most_size ? size : from.most_size;
    to.least_ns = short_ns < from.least_ns ? short_ns : from.least_ns;
    to.most_ns = short_ns > from.most_ns ? short_ns : from.most_ns;
    to.size_bin = bin_of(size);
    to.time_bin = bin_of(time_ns);
    const uint8_t size_bin = to.size_bin, time_bin = to.time_bin;
    as_atomic(record.calls).store(calls + 1, std::memory_order_release);
    ++record.size_bins[size_bin];
    ++record.time_bins[time_bin];
}

void forget_all(OpenRecords& open) {
    for (auto& hashes : open.hashes)
        for (uint64_t& hash : hashes) hash = 0;
}

void forget_file(OpenRecords& open, uint64_t file) {
    for (unsigned set = 0; set < kSets; ++set)
        for (unsigned way = 0; way < kWays; ++way)
            if (open.hashes[set][way] != 0 && open.records[set][way] != nullptr && open.records[set][way]->file == file)
                open.hashes[set][way] = 0;
}

bool is_ended(const OpenRecords& open, const Merged& record, const Event& event, int32_t shift) {
    const uint64_t begin_ns = record.begin_ns;
    if (event.begin_ns >= begin_ns + (kPeriodNs << shift) || record.calls >= kMostCalls) return true;
    return open.cut_ns >= begin_ns + (kLeastCutNs << shift);
}

// The place for a new key: an empty one, else that of a call that came once, else that of the record that is unused for longest.
unsigned victim_of(const OpenRecords& open, unsigned set) {
    unsigned victim = 0;
    uint64_t oldest_ns = ~uint64_t{0};
    for (unsigned way = 0; way < kWays; ++way) {
        if (open.hashes[set][way] == 0) return way;
        const Merged* record = open.records[set][way];
        const uint64_t last_ns = record == nullptr ? 0 : record->sums[record->calls % 2].last_ns;
        if (last_ns >= oldest_ns) continue;
        oldest_ns = last_ns;
        victim = way;
    }
    return victim;
}

bool merge_into(ProcessState& process, OpenRecords& open, const Event& event, int32_t shift) {
    const uint64_t hash = hash_of_key(event);
    const unsigned set = static_cast<unsigned>(hash >> 32) % kSets;
    unsigned way = 0;
    while (way < kWays && open.hashes[set][way] != hash) ++way;
    if (way == kWays) {
        way = victim_of(open, set);
        open.hashes[set][way] = hash;
        open.records[set][way] = nullptr;
        return false;
    }
    Merged*& record = open.records[set][way];
    if (record == nullptr || is_ended(open, *record, event, shift))
        if (Merged* made = make_record(process, open, event)) record = made;  // if there is no room, the old record continues
    if (record == nullptr) return false;
    add_event(*record, event);
    return true;
}

void prepare(ProcessState& process, OpenRecords& open) {
    const uint32_t generation = process.merging.generation.load(std::memory_order_relaxed);
    if (open.serial == process.serial && open.generation == generation) [[likely]]
        return;
    if (open.serial != process.serial) {
        process.merging.threads.fetch_add(1, std::memory_order_relaxed);
        open.thread = thread_number();
        open.cut_ns = 0;
        open.serial = process.serial;
    }
    open.generation = generation;
    forget_all(open);
}

// Ends the records that must not contain later calls.
void end_records(ProcessState& process, OpenRecords& open, const Event& event, const CallKind& kind) {
    if (kind.role == Role::closes || kind.role == Role::renames) {
        forget_file(open, event.file);
        if (kind.role == Role::renames && event.result >= 0) {
            forget_file(open, event.detail);
            end_counters_of(process, event.file);
            end_counters_of(process, event.detail);
            if (process.merging.threads.load(std::memory_order_relaxed) > 1) process.merging.generation.fetch_add(1);
        }
    }
    if (kind.role == Role::marks_phase) process.merging.generation.fetch_add(1);
}

}  // namespace

void begin_merging_when_due(ProcessState& process) {
    const uint32_t limit = event_chunk_limit(process), used = process.chunks.load();
    if (used < limit / 2 && process.growth.load() == Growth::grows) return;
    const uint32_t room = limit - limit / 2, rest = used < limit ? limit - used : 0;
    const int32_t shift = rest == 0 ? kMostShift : std::bit_width(room / rest) - 1;
    process.merging.shift.store(shift < 0 ? 0 : shift > kMostShift ? kMostShift : shift);
}

bool merge_event(ProcessState& process, const Event& event, int32_t shift) {
    OpenRecords& open = open_records;
    if (open.is_busy) return false;
    open.is_busy = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    prepare(process, open);
    const CallKind& kind = kind_of(event.call);
    // Bytes of the C library's own files: `coverage` looks for the calls within this one.
    const bool is_of_c_library = event.call == static_cast<uint16_t>(Call::fill) && event.descriptor < 0;
    const bool is_long = event.end_ns - event.begin_ns > kLongCallNs << shift;
    bool is_merged = false;
    if (!is_long && !is_kept(kind) && !is_of_c_library) is_merged = merge_into(process, open, event, shift);
    if (!is_merged && kind.role == Role::collective) open.cut_ns = event.end_ns;
    end_records(process, open, event, kind);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    open.is_busy = false;
    return is_merged;
}

}  // namespace tailrace::trace
