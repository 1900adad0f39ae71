#include "trace/slots.hpp"

#include <errno.h>
#include <pthread.h>

#include "trace/atomics.hpp"
#include "trace/counters.hpp"
#include "trace/log.hpp"
#include "trace/log_file.hpp"
#include "trace/merging.hpp"
#include "trace/raw.hpp"

namespace tailrace::trace {
namespace {

constexpr uint32_t kLeastRemainder = 64;  // slots: a smaller remainder is not reused

struct ThreadState {
    std::atomic<uint64_t> next;  // address of the next slot
    uint64_t end;                // of the chunk
    uint32_t serial;             // of the process whose log the chunk belongs to
};
[[gnu::tls_model("initial-exec")]] thread_local constinit ThreadState thread_state = {};

// A remainder of a chunk as one number: the address of its first slot in 47 bits, above them the number of slots.
uint64_t packed(uint64_t next, uint64_t end) { return next | (end - next) / kSlotBytes << 48; }
uint64_t next_of(uint64_t packed) { return packed & ((uint64_t{1} << 48) - 1); }
uint64_t end_of(uint64_t packed) { return next_of(packed) + (packed >> 48) * kSlotBytes; }

// Runs when a thread ends: makes the rest of its chunk free for other threads. A signal handler may run between any two lines and
// take another chunk for this thread. So `next` and `end` are used only where both certainly belong to one chunk.
void release_remainder(void*) {
    ProcessState* process = begun_process();
    ThreadState& thread = thread_state;
    if (process == nullptr || thread.serial != process->serial) return;
    const uint64_t end = thread.end;
    const uint64_t next = thread.next.exchange(0);
    if (next + kLeastRemainder * kSlotBytes > end || next + kChunkBytes <= end) return;
    const uint64_t remainder = packed(next, end);
    for (auto& place : process->remainders) {
        uint64_t nothing = 0;
        if (place.load(std::memory_order_relaxed) == 0 && place.compare_exchange_strong(nothing, remainder)) return;
    }
}

// Only keys below this number are used: the C library stores a thread's values of the first 32 keys in the thread itself, and calls
// malloc for later keys, which a hook must not do. With a later key, remainders are not reused.
constexpr pthread_key_t kKeysWithoutMalloc = 32, kNoKey = ~pthread_key_t{0};
constinit pthread_key_t thread_end_key = kNoKey;

Reason reason_of(int64_t error) {
    switch (error) {
        case -EMFILE:
        case -ENFILE: return Reason::descriptors;
        case -ESTALE:
        case -ELOOP:
        case -EACCES:
        case -EPERM: return Reason::rights;
        case -EINTR: return Reason::interrupted;
        case -EFBIG: return Reason::file_size;
        default: return Reason::disk;
    }
}

// Whether another attempt may succeed.
bool is_transient(Reason reason) { return reason == Reason::descriptors || reason == Reason::interrupted; }

// Stores in the log's header why no chunk could be added.
void note(ProcessState& process, Reason reason) {
    if (reason != Reason::budget && !is_transient(reason)) process.growth.store(Growth::stopped);
    auto& reasons = as_atomic(process.header->room.reasons);
    if ((reasons.load(std::memory_order_relaxed) & static_cast<uint32_t>(reason)) == 0) reasons |= static_cast<uint32_t>(reason);
}

// Writes the head of a chunk or remainder; the slots after it belong to this thread.
void write_head(const ProcessState& process, ChunkHead& head, ChunkKind kind) {
    head.begin_ns = now_ns();
    head.process = static_cast<uint32_t>(process.header->numbers.process);
    head.thread = thread_number();
    head.kind = static_cast<uint16_t>(kind);
    as_atomic(head.call).store(static_cast<uint16_t>(Call::chunk), std::memory_order_release);
}

// Claims the remainder of an ended thread's chunk, and writes a new head; nullptr: none is large enough.
ChunkHead* claim_remainder(ProcessState& process, uint32_t slots, uint64_t& end) {
    for (auto& place : process.remainders) {
        uint64_t remainder = place.load(std::memory_order_relaxed);
        if (remainder >> 48 < slots + 1 || !place.compare_exchange_strong(remainder, 0)) continue;
        auto* head = reinterpret_cast<ChunkHead*>(next_of(remainder));
        write_head(process, *head, ChunkKind::events_and_names);
        end = end_of(remainder);
        return head;
    }
    return nullptr;
}

// Adds a chunk to the file and writes its head, if the log then has at most `limit` chunks. nullptr: failed, for `reason`.
ChunkHead* claim_chunk(ProcessState& process, ChunkKind kind, uint32_t limit, Reason& reason) {
    int64_t log = open_log_file(process);
    if (log < 0) {
        reason = reason_of(log);
        return nullptr;
    }
    uint32_t number = process.chunks.load();
    do {
        reason = Reason::budget;  // other threads may have taken the last chunks
        if (number < limit) continue;
        raw::call(SYS_close, log);
        return nullptr;
    } while (!process.chunks.compare_exchange_weak(number, number + 1));
    int64_t error = 0;
    auto* head =
        static_cast<ChunkHead*>(map_log_file(process, log, kHeaderBytes + uint64_t{number} * kChunkBytes, kChunkBytes, error));
    reason = reason_of(error);
    if (head == nullptr) return nullptr;
    write_head(process, *head, kind);
    as_atomic(process.header->room.chunks).fetch_add(1);
    begin_merging_when_due(process);
    return head;
}

// Locks the room for this thread; false: not free. The wait is bounded, because a signal handler may have interrupted the thread
// that holds the lock.
bool take(SharedRoom& room) {
    constexpr int kMostYields = 200;
    for (int yields = 0; yields < kMostYields; ++yields) {
        uint32_t free = 0;
        if (room.is_taken.compare_exchange_strong(free, 1, std::memory_order_acquire)) return true;
        raw::call(SYS_sched_yield);
    }
    return false;
}

}  // namespace

uint32_t thread_number() { return static_cast<uint32_t>(raw::call(SYS_gettid)); }

void watch_thread_ends() {
    if (thread_end_key != kNoKey) return;  // a child has its parent's key
    pthread_key_t key;
    if (pthread_key_create(&key, release_remainder) == 0) thread_end_key = key;
}

void* claim_slots(ProcessState& process, uint32_t slots) {
    ThreadState& thread = thread_state;
    if (thread.serial != process.serial) {
        thread.next = 0;
        thread.end = 0;
        thread.serial = process.serial;
    }
    for (;;) {
        const uint64_t at = thread.next.fetch_add(uint64_t{slots} * kSlotBytes, std::memory_order_relaxed);
        // A signal handler may have taken another chunk between any two of these lines: `end` counts for its own chunk only.
        const uint64_t end = thread.end;
        if (at + uint64_t{slots} * kSlotBytes <= end && at + kChunkBytes > end) return reinterpret_cast<void*>(at);
        if (process.growth.load(std::memory_order_relaxed) != Growth::grows) return nullptr;
        uint64_t end_of_room = 0;
        ChunkHead* head = claim_remainder(process, slots, end_of_room);
        if (head == nullptr) {
            Reason reason;
            if (process.chunks.load() > 0) prepare_counters(process);
            head = claim_chunk(process, ChunkKind::events_and_names, event_chunk_limit(process), reason);
            if (head == nullptr) {
                note(process, reason);
                Growth grows = Growth::grows;
                if (reason == Reason::budget) process.growth.compare_exchange_strong(grows, Growth::budget_spent);
                begin_merging_when_due(process);
                return nullptr;
            }
            end_of_room = reinterpret_cast<uint64_t>(head) + kChunkBytes;
        }
        thread.end = 0;
        thread.next.store(reinterpret_cast<uint64_t>(head) + kSlotBytes);
        thread.end = end_of_room;
        if (thread_end_key < kKeysWithoutMalloc)
            pthread_setspecific(thread_end_key, head);  // any value: then the key's function runs
    }
}

void* claim_shared_slots(ProcessState& process, SharedRoom& room, ChunkKind kind, uint32_t slots, uint32_t limit) {
    if (!take(room)) return nullptr;
    const uint64_t bytes = uint64_t{slots} * kSlotBytes;
    uint64_t at = 0;
    if (room.next + bytes > room.end) {
        const bool may_grow = process.chunks.load(std::memory_order_relaxed) < limit &&
                              process.growth.load(std::memory_order_relaxed) != Growth::stopped;
        Reason reason;
        ChunkHead* head = may_grow ? claim_chunk(process, kind, limit, reason) : nullptr;
        if (head != nullptr) {
            // Counters take two slots and begin at even slot numbers.
            room.next = reinterpret_cast<uint64_t>(head) + (kind == ChunkKind::counters ? 2 : 1) * uint64_t{kSlotBytes};
            // Read without the room: whether there are counters.
            as_atomic(room.end).store(reinterpret_cast<uint64_t>(head) + kChunkBytes, std::memory_order_relaxed);
        } else if (may_grow) {
            note(process, reason);
        }
    }
    if (room.next + bytes <= room.end) {
        at = room.next;
        room.next += bytes;
    }
    room.is_taken.store(0, std::memory_order_release);
    return reinterpret_cast<void*>(at);
}

void* claim_slots_beyond_budget(ProcessState& process, uint32_t slots) {
    return claim_shared_slots(process, process.names_beyond_budget, ChunkKind::events_and_names, slots, kNoLimit);
}

}  // namespace tailrace::trace
