#include "trace/slots.hpp"

#include <errno.h>
#include <pthread.h>

#include "trace/atomics.hpp"
#include "trace/counters.hpp"
#include "trace/log.hpp"
#include "trace/log_file.hpp"
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

// RATIONALE: the C library keeps a thread's values of the first 32 keys in the thread itself. For later keys it calls malloc, which
// a hook must not. With such a key, remainders are not reused.
constexpr pthread_key_t kKeysWithoutMalloc = 32, kNoKey = ~pthread_key_t{0};
constinit pthread_key_t thread_end_key = kNoKey;

// There was no free descriptor, or the call was interrupted: another try may succeed.
bool is_transient_error(int64_t log) { return log == -EMFILE || log == -ENFILE || log == -EINTR; }

// The slots after the head are this thread's.
void write_head(const ProcessState& process, ChunkHead& head, uint16_t kind) {
    head.begin_ns = now_ns();
    head.process = static_cast<uint32_t>(process.header->numbers.process);
    head.thread = static_cast<uint32_t>(raw::call(SYS_gettid));
    head.kind = kind;
    as_atomic(head.call).store(static_cast<uint16_t>(Call::chunk), std::memory_order_release);
}

// The remainder of an ended thread's chunk, with a new head; nullptr where none is large enough.
ChunkHead* claim_remainder(ProcessState& process, uint32_t slots, uint64_t& end) {
    for (auto& place : process.remainders) {
        uint64_t remainder = place.load(std::memory_order_relaxed);
        if (remainder >> 48 < slots + 1 || !place.compare_exchange_strong(remainder, 0)) continue;
        auto* head = reinterpret_cast<ChunkHead*>(next_of(remainder));
        write_head(process, *head, 0);
        end = end_of(remainder);
        return head;
    }
    return nullptr;
}

uint32_t event_chunk_limit(const ProcessState& process) { return process.chunk_limit - kReservedChunks; }

}  // namespace

void watch_thread_ends() {
    if (thread_end_key != kNoKey) return;  // a child has its parent's key
    pthread_key_t key;
    if (pthread_key_create(&key, release_remainder) == 0) thread_end_key = key;
}

ChunkHead* claim_chunk(ProcessState& process, uint16_t kind, uint32_t limit, bool& is_transient) {
    const int64_t log = open_log_file(process);
    is_transient = is_transient_error(log);
    if (log < 0) return nullptr;
    uint32_t number = process.chunks.load();
    do {
        is_transient = number >= limit;  // other threads have taken the last chunks
        if (is_transient) {
            raw::call(SYS_close, log);
            return nullptr;
        }
    } while (!process.chunks.compare_exchange_weak(number, number + 1));
    auto* head = static_cast<ChunkHead*>(map_log_file(process, log, kHeaderBytes + uint64_t{number} * kChunkBytes, kChunkBytes));
    if (head == nullptr) return nullptr;
    write_head(process, *head, kind);
    as_atomic(process.header->room.chunks).fetch_add(1);
    return head;
}

bool stores_events(const ProcessState& process) {
    return process.mode.load(std::memory_order_relaxed) == Mode::storing && process.chunks.load() < event_chunk_limit(process);
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
        if (!stores_events(process)) return nullptr;
        uint64_t end_of_room = 0;
        ChunkHead* head = claim_remainder(process, slots, end_of_room);
        if (head == nullptr) {
            bool is_transient = false;
            head = claim_chunk(process, 0, event_chunk_limit(process), is_transient);
            if (head == nullptr) {
                Mode storing = Mode::storing;
                if (!is_transient) process.mode.compare_exchange_strong(storing, Mode::full);
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

void* claim_reserved_slots(ProcessState& process, uint32_t slots) {
    if (stores_events(process) || counters_of(process) == nullptr) return nullptr;
    const uint64_t bytes = uint64_t{slots} * kSlotBytes;
    if (const uint64_t next = process.reserved_next.load(); next == 0 || next + bytes > process.reserved_end) return nullptr;
    const uint64_t at = process.reserved_next.fetch_add(bytes);
    return at + bytes <= process.reserved_end ? reinterpret_cast<void*>(at) : nullptr;
}

}  // namespace tailrace::trace
