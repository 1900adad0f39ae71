#include "trace/log.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "trace/kernel.hpp"
#include "trace/process.hpp"
#include "trace/raw.hpp"

namespace tailrace::trace {
namespace {

constexpr uint64_t kDefaultBudget = 64u << 20;
constexpr uint32_t kNames = 8192, kNameProbes = 8;  // names that the log has; beyond these a name may be stored again
constexpr uint32_t kStores = 0, kIsFull = 1, kMakesCounters = 2, kCounts = 3;  // the values of `counting`
constexpr uint32_t kKeptChunks = 2;  // of the budget, for when it is spent: counters, and names of files that come then
constexpr uint32_t kLeftRooms = 256, kLeastLeft = 64;  // what threads that ended have left: so many, each of so many slots
constexpr uint32_t kCounters = kSlotsOfChunk / 2 - 1, kOfNoFile = kCounters - 2, kOfOthers = kCounters - 1;
constexpr char kOthers[] = "(other files)";
enum class Moves : uint8_t { nothing, reads, writes };
consteval Moves moves_of(const char* group) {
    for (const char* at = group; *at != '\0'; ++at) {
        if (at[0] == 'r' && at[1] == 'e' && at[2] == 'a' && at[3] == 'd' && at[4] == '\0') return Moves::reads;
        if (at[0] == 'w' && at[1] == 'r' && at[2] == 'i' && at[3] == 't' && at[4] == 'e' && at[5] == '\0') return Moves::writes;
    }
    return Moves::nothing;
}

Moves moves_of(uint16_t call) {
    switch (call) {
#define TAILRACE_CALL(name, number, group)           \
    case number: {                                   \
        constexpr Moves of_group = moves_of(#group); \
        return of_group;                             \
    }
#include "trace/calls.def"
#undef TAILRACE_CALL
        default: return Moves::nothing;
    }
}

enum class State : uint32_t { off, on };

// In memory of its own, so that a child begins its own log.
struct OfProcess {
    std::atomic<uint32_t> begun;  // 0: not yet; 1: being begun; 2: done
    std::atomic<State> state;
    Header* header;
    std::atomic<Counter*> counters;
    std::atomic<uint64_t> kept_next;  // address of room for names when the budget is spent
    uint64_t kept_end;
    std::atomic<uint32_t> chunks, counting;
    uint32_t most_chunks;
    uint32_t serial;                         // another in each child
    std::atomic<uint64_t> left[kLeftRooms];  // see `packed`
    std::atomic<uint64_t> names[kNames];
    char path[4096 + 128];
};

constinit std::atomic<void*> of_process = nullptr;

// Of this thread; `serial` tells whether the chunk is one of this process's log.
struct OfThread {
    std::atomic<uint64_t> next;  // address of the next slot
    uint64_t end;
    uint32_t serial;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit OfThread of_thread = {};

uint64_t time_of(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void* map(uint64_t bytes, int protection, int flags, int64_t descriptor, uint64_t offset) {
    const int64_t at =
        raw::call(SYS_mmap, 0, static_cast<int64_t>(bytes), protection, flags, descriptor, static_cast<int64_t>(offset));
    return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

void add(uint64_t& to, uint64_t value) { reinterpret_cast<std::atomic<uint64_t>&>(to).fetch_add(value, std::memory_order_relaxed); }

// Room on the device: without it, writing to the memory of a full disk would end the user's program. So would a signal where the
// user allows no files of that size.
bool reserve(int64_t descriptor, uint64_t offset, uint64_t bytes, Header* header) {
    rlimit64 most = {};
    if (raw::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, raw::address(&most)) == 0 && most.rlim_cur < offset + bytes) return false;
    int64_t answer;
    do answer = raw::call(SYS_fallocate, descriptor, 0, static_cast<int64_t>(offset), static_cast<int64_t>(bytes));
    while (answer == -EINTR);
    if (answer != -EOPNOTSUPP) return answer == 0;
    static const char zeros[4096] = {};
    for (uint64_t done = 0; done < bytes; done += sizeof zeros)
        if (raw::call(SYS_pwrite64, descriptor, raw::address(zeros), sizeof zeros, static_cast<int64_t>(offset + done)) !=
            sizeof zeros)
            return false;
    if (header == nullptr) return true;
    add(header->own.written_bytes, bytes);
    add(header->own.write_calls, bytes / sizeof zeros);
    return true;
}

// RATIONALE: the log is opened each time. A descriptor that stays would be seen by the program, which may close it and get another
// file under its number.
int64_t open_log(const OfProcess& mine, int64_t flags = 0) {
    return raw::call(SYS_openat, AT_FDCWD, raw::address(mine.path), O_RDWR | O_CLOEXEC | flags, 0666);
}

// A part of the log as memory; closes it.
void* map_log(const OfProcess& mine, int64_t log, uint64_t offset, uint64_t bytes) {
    if (log < 0) return nullptr;
    void* at = reserve(log, offset, bytes, mine.header) ? map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, log, offset) : nullptr;
    raw::call(SYS_close, log);
    return at;
}

// FOLDER/HOST.PROCESS.N.trace: N tells programs apart that one process was in turn.
Header* create_log(OfProcess& mine, const char* folder, const Header& described) {
    uint64_t at = raw::put_text(mine.path, folder, 4000);
    mine.path[at++] = '/';
    at += raw::put_text(mine.path + at, described.host, sizeof described.host);
    mine.path[at++] = '.';
    at += raw::put_number(mine.path + at, static_cast<uint64_t>(described.process));
    mine.path[at++] = '.';
    constexpr uint64_t kMostPrograms = 100'000;
    for (uint64_t n = 0; n < kMostPrograms; ++n) {
        raw::put_text(mine.path + at + raw::put_number(mine.path + at, n), ".trace", 8);
        if (raw::call(SYS_faccessat, AT_FDCWD, raw::address(mine.path), F_OK) == 0) continue;
        return static_cast<Header*>(map_log(mine, open_log(mine, O_CREAT | O_EXCL), 0, kHeaderBytes));
    }
    return nullptr;
}

// Room that a thread has left, in one number: the address of the next slot in 47 bits, above them how many there are.
uint64_t packed(uint64_t next, uint64_t end) { return next | (end - next) / kSlotBytes << 48; }
uint64_t next_of(uint64_t packed) { return packed & ((uint64_t{1} << 48) - 1); }
uint64_t end_of(uint64_t packed) { return next_of(packed) + (packed >> 48) * kSlotBytes; }

// A thread ends: another one may go on in its chunk. A handler may come between any two lines and take another chunk, which is
// then this thread's; only what certainly belongs together is left.
void leave(void*) {
    auto* mine = static_cast<OfProcess*>(of_process.load(std::memory_order_acquire));
    OfThread& thread = of_thread;
    if (mine == nullptr || thread.serial != mine->serial) return;
    const uint64_t end = thread.end;
    const uint64_t next = thread.next.exchange(0);
    if (next + kLeastLeft * kSlotBytes > end || next + kChunkBytes <= end) return;
    const uint64_t room = packed(next, end);
    for (auto& place : mine->left) {
        uint64_t nothing = 0;
        if (place.load(std::memory_order_relaxed) == 0 && place.compare_exchange_strong(nothing, room)) return;
    }
}

// RATIONALE: the C library keeps a thread's values of its first keys in the thread itself, those of others in memory that it asks
// malloc for: with a later key, chunks of threads that ended stay as they are.
constexpr pthread_key_t kKeysWithoutMemory = 32, kNoKey = ~pthread_key_t{0};
constinit pthread_key_t at_end_of_thread = kNoKey;

void look_for_ends_of_threads() {
    if (at_end_of_thread != kNoKey) return;  // in a child
    pthread_key_t key;
    if (pthread_key_create(&key, leave) == 0) at_end_of_thread = key;
}

void begin_log(OfProcess& mine) {
    mine.state.store(State::off);
    const char* folder = getenv("TAILRACE_TRACE");
    if (folder == nullptr || *folder == '\0') return;
    static Header described;
    described = {};
    describe_process(described);
    described.begin_ns = time_of(CLOCK_MONOTONIC);
    described.begin_real_ns = time_of(CLOCK_REALTIME);
    if (is_launcher(described.program)) return;
    mine.header = create_log(mine, folder, described);
    if (mine.header == nullptr) return;
    described.budget_bytes = number_at(getenv("TAILRACE_TRACE_BYTES"), kDefaultBudget);
    const uint64_t chunks = described.budget_bytes / kChunkBytes;
    mine.most_chunks = static_cast<uint32_t>(chunks <= kKeptChunks ? kKeptChunks + 1 : chunks);
    *mine.header = described;
    look_for_ends_of_threads();
    mine.state.store(State::on);
}

OfProcess* process() {
    auto* mine = static_cast<OfProcess*>(own_memory(of_process, sizeof(OfProcess)));
    if (mine == nullptr) return nullptr;
    if (mine->begun.load(std::memory_order_acquire) == 2) [[likely]]
        return mine;
    uint32_t not_yet = 0;
    if (mine->begun.compare_exchange_strong(not_yet, 1)) {
        static std::atomic<uint32_t> serials = 0;
        mine->serial = ++serials;
        begin_log(*mine);
        mine->begun.store(2, std::memory_order_release);
        return mine;
    }
    return nullptr;  // another thread is at it, or this one, in a signal handler
}

// The program has as many files open as it may, or was interrupted: the next time may go well.
bool is_passing(int64_t log) { return log == -EMFILE || log == -ENFILE || log == -EINTR; }

// From here on the slots are this thread's.
void head_chunk(const OfProcess& mine, ChunkHead& head, uint16_t kind) {
    head.begin_ns = now_ns();
    head.process = static_cast<uint32_t>(mine.header->process);
    head.thread = static_cast<uint32_t>(raw::call(SYS_gettid));
    head.kind = kind;
    reinterpret_cast<std::atomic<uint16_t>&>(head.call).store(static_cast<uint16_t>(Call::chunk), std::memory_order_release);
}

// The log has at most `most` chunks then. Where there is none, the disk is full, unless `passing`.
ChunkHead* claim_chunk(OfProcess& mine, uint16_t kind, uint32_t most, bool& passing) {
    const int64_t log = open_log(mine);
    passing = is_passing(log);
    if (log < 0) return nullptr;
    uint32_t number = mine.chunks.load();
    do {
        passing = number >= most;  // other threads have taken the last ones
        if (passing) return nullptr;
    } while (!mine.chunks.compare_exchange_weak(number, number + 1));
    auto* head = static_cast<ChunkHead*>(map_log(mine, log, kHeaderBytes + uint64_t{number} * kChunkBytes, kChunkBytes));
    if (head == nullptr) return nullptr;
    head_chunk(mine, *head, kind);
    reinterpret_cast<std::atomic<uint32_t>&>(mine.header->chunks).fetch_add(1);
    return head;
}

// What a thread that ended has left, from its new head on; nullptr where nobody left enough.
ChunkHead* claim_left(OfProcess& mine, uint32_t slots, uint64_t& end) {
    for (auto& place : mine.left) {
        uint64_t room = place.load(std::memory_order_relaxed);
        if (room >> 48 < slots + 1 || !place.compare_exchange_strong(room, 0)) continue;
        auto* head = reinterpret_cast<ChunkHead*>(next_of(room));
        head_chunk(mine, *head, 0);
        end = end_of(room);
        return head;
    }
    return nullptr;
}

// Chunks of events; the last ones of the budget are for what comes then.
uint32_t most_of_events(const OfProcess& mine) { return mine.most_chunks - kKeptChunks; }

bool stores(const OfProcess& mine) {
    return mine.counting.load(std::memory_order_relaxed) == kStores && mine.chunks.load() < most_of_events(mine);
}

// Room for that many slots; nullptr where none is left, or there is none now. A signal handler that comes in between takes others.
void* claim(OfProcess& mine, uint32_t slots) {
    OfThread& thread = of_thread;
    if (thread.serial != mine.serial) {
        thread.next = 0;
        thread.end = 0;
        thread.serial = mine.serial;
    }
    for (;;) {
        const uint64_t at = thread.next.fetch_add(uint64_t{slots} * kSlotBytes, std::memory_order_relaxed);
        // A handler may have taken another chunk between any two of these lines: `end` is believed of its own chunk only.
        const uint64_t end = thread.end;
        if (at + uint64_t{slots} * kSlotBytes <= end && at + kChunkBytes > end) return reinterpret_cast<void*>(at);
        if (!stores(mine)) return nullptr;
        uint64_t end_of_room = 0;
        ChunkHead* head = claim_left(mine, slots, end_of_room);
        if (head == nullptr) {
            bool passing = false;
            head = claim_chunk(mine, 0, most_of_events(mine), passing);
            if (head == nullptr) {
                uint32_t stores = kStores;
                if (!passing) mine.counting.compare_exchange_strong(stores, kIsFull);
                return nullptr;
            }
            end_of_room = reinterpret_cast<uint64_t>(head) + kChunkBytes;
        }
        thread.end = 0;
        thread.next.store(reinterpret_cast<uint64_t>(head) + kSlotBytes);
        thread.end = end_of_room;
        if (at_end_of_thread < kKeysWithoutMemory) pthread_setspecific(at_end_of_thread, head);  // so that `leave` is called
    }
}

// They are made when they are needed. Who comes meanwhile waits a little, not for ever: it may be a signal handler of the maker.
Counter* counters_of(OfProcess& mine) {
    uint32_t before = mine.counting.load();
    if (before < kMakesCounters && mine.counting.compare_exchange_strong(before, kMakesCounters)) {
        bool passing = false;
        auto* chunk = reinterpret_cast<char*>(claim_chunk(mine, 1, mine.most_chunks, passing));
        if (passing) {
            mine.counting.store(kIsFull);
            return nullptr;
        }
        if (chunk != nullptr) mine.counters.store(reinterpret_cast<Counter*>(chunk + 2 * kSlotBytes));
        if (const ChunkHead* names = claim_chunk(mine, 0, mine.most_chunks, passing)) {
            mine.kept_end = reinterpret_cast<uint64_t>(names) + kChunkBytes;
            mine.kept_next.store(reinterpret_cast<uint64_t>(names) + kSlotBytes);
        }
        mine.counting.store(kCounts);
    }
    for (int patience = 10'000; mine.counting.load() == kMakesCounters && patience > 0; --patience) raw::call(SYS_sched_yield);
    return mine.counters.load();
}

// Room in the chunk that is kept for names.
void* claim_kept(OfProcess& mine, uint32_t slots) {
    if (stores(mine) || counters_of(mine) == nullptr) return nullptr;
    const uint64_t bytes = uint64_t{slots} * kSlotBytes;
    if (const uint64_t next = mine.kept_next.load(); next == 0 || next + bytes > mine.kept_end) return nullptr;
    const uint64_t at = mine.kept_next.fetch_add(bytes);
    return at + bytes <= mine.kept_end ? reinterpret_cast<void*>(at) : nullptr;
}

Counter& counter_of(Counter* counters, uint64_t file) {
    if (file == 0) return counters[kOfNoFile];
    for (uint64_t probe = 0; probe < kOfNoFile; ++probe) {
        Counter& counter = counters[(file + probe) % kOfNoFile];
        auto& owner = reinterpret_cast<std::atomic<uint64_t>&>(counter.file);
        uint64_t nobody = 0;
        if (owner.load() == file || owner.compare_exchange_strong(nobody, file) || nobody == file) return counter;
    }
    Counter& others = counters[kOfOthers];
    reinterpret_cast<std::atomic<uint64_t>&>(others.file).store(file_id(kOthers, sizeof kOthers - 1));
    return others;
}

void count(OfProcess& mine, const Event& event) {
    add(mine.header->dropped_events, 1);
    Counter* const counters = stores(mine) ? nullptr : counters_of(mine);
    if (counters == nullptr) return;
    Counter& counter = counter_of(counters, event.file);
    reinterpret_cast<std::atomic<uint16_t>&>(counter.call).store(static_cast<uint16_t>(Call::counter));
    add(counter.calls, 1);
    add(counter.busy_ns, event.end_ns - event.begin_ns);
    if (event.result < 0) add(counter.failed, 1);
    const Moves moves = moves_of(event.call);
    if (moves != Moves::nothing) {
        add(moves == Moves::reads ? counter.reads : counter.writes, 1);
        if (event.result > 0)
            add(moves == Moves::reads ? counter.bytes_read : counter.bytes_written, static_cast<uint64_t>(event.result));
    }
    uint64_t nothing = 0;  // about: threads may pass each other
    reinterpret_cast<std::atomic<uint64_t>&>(counter.first_ns).compare_exchange_strong(nothing, event.begin_ns);
    reinterpret_cast<std::atomic<uint64_t>&>(counter.last_ns).store(event.end_ns);
}

}  // namespace

void* own_memory(std::atomic<void*>& place, uint64_t bytes) {
    void* there = place.load(std::memory_order_acquire);
    if (there != nullptr) [[likely]]
        return there;
    void* made = map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == nullptr) return nullptr;
    raw::call(SYS_madvise, raw::address(made), static_cast<int64_t>(bytes), MADV_WIPEONFORK);
    if (place.compare_exchange_strong(there, made)) return made;
    raw::call(SYS_munmap, raw::address(made), static_cast<int64_t>(bytes));
    return there;
}

uint64_t now_ns() { return time_of(CLOCK_MONOTONIC); }

bool is_on() {
    const OfProcess* mine = process();
    return mine != nullptr && mine->state.load(std::memory_order_relaxed) == State::on;
}

void record(const Event& event) {
    OfProcess* mine = process();
    if (mine == nullptr || mine->state.load(std::memory_order_relaxed) != State::on) return;
    auto* slot = static_cast<Event*>(claim(*mine, 1));
    if (slot == nullptr) return count(*mine, event);
    const uint16_t call = event.call;
    Event whole = event;
    whole.call = 0;
    *slot = whole;
    reinterpret_cast<std::atomic<uint16_t>&>(slot->call).store(call, std::memory_order_release);
}

uint64_t file_id(const char* name, uint64_t bytes) {
    const uint64_t id = hash_of(name, bytes);
    OfProcess* mine = process();
    if (mine == nullptr || mine->state.load(std::memory_order_relaxed) != State::on) return id;
    std::atomic<uint64_t>* known = nullptr;
    for (uint32_t probe = 0; probe < kNameProbes; ++probe) {
        std::atomic<uint64_t>& place = mine->names[(id + probe) % kNames];
        uint64_t there = place.load(std::memory_order_relaxed);
        if (there == id) return id;
        if (there == 0 && (place.compare_exchange_strong(there, id) || there == id)) {
            if (there == id) return id;
            known = &place;
            break;
        }
    }
    const auto slots = static_cast<uint32_t>((sizeof(Name) - sizeof(Name::text) + bytes + kSlotBytes - 1) / kSlotBytes);
    if (slots >= kSlotsOfChunk) return id;
    auto* slot = static_cast<Name*>(claim(*mine, slots));
    if (slot == nullptr) slot = static_cast<Name*>(claim_kept(*mine, slots));
    if (slot == nullptr) {
        if (known != nullptr && stores(*mine)) known->store(0);  // the next time
        return id;
    }
    slot->file = id;
    slot->bytes = static_cast<uint32_t>(bytes);
    slot->slots = slots;
    // Before the bytes behind it: these are never taken for events. Whether they are whole, the id tells.
    reinterpret_cast<std::atomic<uint16_t>&>(slot->call).store(static_cast<uint16_t>(Call::name), std::memory_order_release);
    memcpy(reinterpret_cast<char*>(slot) + offsetof(Name, text), name, bytes);
    return id;
}

const char* name_of(Call call) {
    switch (static_cast<uint16_t>(call)) {
#define TAILRACE_CALL(name, number, group) \
    case number: return #name;
#include "trace/calls.def"
#undef TAILRACE_CALL
        default: return "";
    }
}

void set_rank(int32_t rank, int32_t ranks) {
    const OfProcess* mine = process();
    if (mine == nullptr || mine->state.load() != State::on) return;
    mine->header->rank = rank;
    mine->header->ranks = ranks;
}

void end_log() {
    auto* mine = static_cast<OfProcess*>(of_process.load(std::memory_order_acquire));
    if (mine == nullptr || mine->begun.load() != 2 || mine->state.load() != State::on) return;
    const Counted now = count_now();
    mine->header->at_end = now.process;
    mine->header->thread_at_end = now.thread;
    mine->header->end_real_ns = time_of(CLOCK_REALTIME);
    mine->header->end_ns = time_of(CLOCK_MONOTONIC);
}

void add_own(const KernelCounts& counts) {
    const OfProcess* mine = process();
    if (mine == nullptr || mine->header == nullptr) return;
    add(mine->header->own.read_bytes, counts.read_bytes);
    add(mine->header->own.read_calls, counts.read_calls);
}

void set_loader_at_begin(const LoaderCounts& counts) {
    if (const OfProcess* mine = process(); mine != nullptr && mine->header != nullptr) mine->header->loader_at_begin = counts;
}

void set_loader_at_end(const LoaderCounts& counts) {
    if (const OfProcess* mine = process(); mine != nullptr && mine->header != nullptr) mine->header->loader_at_end = counts;
}

}  // namespace tailrace::trace
