// The format of a log, byte for byte (docs/trace-log.md): a header, then chunks of slots of 64 bytes, little-endian. Each process
// has a log. A thread fills a chunk of its own; when it ends, another thread continues in that chunk. A record is in the file at
// once, so a process may be killed at any moment.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tailrace::trace {

enum class Call : uint16_t {
    none = 0,  // an empty slot, or one whose thread was killed while it filled it
#define TAILRACE_CALL(name, number, group) name = (number),
#include "trace/calls.def"
#undef TAILRACE_CALL
    merged = 0xFFFC,
    counter = 0xFFFD,
    chunk = 0xFFFE,
    name = 0xFFFF,
};

constexpr char kMagic[8] = {'T', 'R', 'T', 'R', 'A', 'C', 'E', '\n'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kHeaderBytes = 16384, kSlotBytes = 64, kChunkBytes = 64u << 10;
constexpr uint32_t kSlotsOfChunk = kChunkBytes / kSlotBytes;
constexpr int64_t kNoOffset = -1;  // the call has no offset

// Flags of an event: the libraries in whose functions the call was made.
enum class Within : uint16_t { mpi = 1, hdf5 = 2, netcdf = 4, pnetcdf = 8 };
constexpr uint64_t kHasProcess = 1;   // in `detail` of `spawn`: the result is the child's process number, not a shell's status
constexpr uint64_t kLosesTracer = 2;  // in `detail` of `spawn`: the shell's environment lacks the tracer's variables
constexpr uint16_t kInserted = 256;   // in `flags`: a barrier that the tracer has inserted, because the user asked for it

// One call. Times: CLOCK_MONOTONIC of the node.
struct Event {
    uint64_t begin_ns, end_ns;
    uint16_t call;  // stored last: with it the event is complete
    uint16_t flags;
    int32_t descriptor;  // file descriptor, or -1
    uint64_t file;       // the id of the file's name; 0: none
    int64_t offset;      // in the file, in bytes, or kNoOffset
    uint64_t bytes;      // bytes requested
    int64_t result;      // of the call; -errno if it failed
    uint64_t detail;     // flags of open, whence of seek, protection of mmap, the id of rename's second name ...
};

// A name begins in this slot and continues in the slots after it. Its id is the FNV-1a hash of its bytes, so a reader detects a
// torn name.
struct Name {
    uint64_t file;
    uint32_t bytes, slots;  // slots: this one included
    uint16_t call;          // Call::name
    char text[kSlotBytes - 18];
};

// The first slot of a chunk, and the first slot of another thread that continues in the chunk.
struct ChunkHead {
    uint64_t begin_ns;
    uint32_t thread, process;
    uint16_t call;  // Call::chunk
    uint16_t kind;  // ChunkKind
    uint32_t reserved[11];
};

enum class ChunkKind : uint16_t { events_and_names = 0, counters = 1, merged = 2 };

// The sums over the calls of a merged record.
struct MergedSums {
    uint64_t last_ns;  // end of the last call
    uint64_t bytes;    // bytes requested
    int64_t moved;     // sum of results that are more than 0
    uint64_t busy_ns;
    uint64_t least_size, most_size;  // smallest and largest call: bytes moved or, for calls that move none, bytes requested
    uint32_t least_ns, most_ns;      // shortest and longest call; at most 2^32 - 1
    uint8_t size_bin, time_bin;      // of the last call
    uint8_t reserved[6];
};

constexpr uint32_t kBins = 32;  // bin n counts values of n binary digits; the last bin counts all larger values, too

// Calls of one thread with the same call number, file, detail, flags and error. Takes seven slots. Of the two sums, sums[calls % 2]
// is valid, and the other one may be in change. The bins are changed last, so they may lack the last call.
struct Merged {
    uint64_t begin_ns;  // of the first call
    uint64_t calls;
    uint16_t call;  // Call::merged, stored when the record is complete
    uint16_t flags;
    int32_t descriptor;  // of the first call, or -1
    uint64_t file, detail;
    uint32_t thread;
    uint16_t merged_call;
    uint16_t reserved16;
    int64_t error;  // minus the errno with which each of the calls failed, or 0
    uint64_t reserved;
    MergedSums sums[2];
    uint32_t size_bins[kBins], time_bins[kBins];
};

// The sums over calls of one kind on a file that have neither an event nor a merged record: two slots.
struct Counter {
    uint64_t file;
    uint64_t calls;
    uint16_t call;          // Call::counter
    uint16_t counted_call;  // 0: all calls together
    uint32_t ended;         // 1: the file was renamed
    uint64_t reads, writes, bytes_read, bytes_written, failed;
    uint64_t busy_ns, first_ns, last_ns;
    uint64_t reserved[5];
};

// /proc/self/io, in its order.
struct KernelCounts {
    uint64_t read_bytes, written_bytes, read_calls, write_calls, device_read_bytes, device_written_bytes;
};

// What the dynamic loader has read of programs and libraries, computed from those that it has loaded.
struct LoaderCounts {
    uint64_t read_bytes, read_calls;
};

struct FormatSizes {
    uint32_t version, header_bytes, chunk_bytes, slot_bytes;
};

// CLOCK_MONOTONIC and CLOCK_REALTIME, read one after the other.
struct Moment {
    uint64_t monotonic_ns, real_ns;
};

struct ProcessNumbers {
    int32_t process, parent, rank, ranks;
};

struct Room {
    uint64_t budget_bytes, dropped_events;
    uint32_t chunks;
    uint32_t reasons;  // why events were only counted: a bit for each Reason
};
enum class Reason : uint32_t { budget = 1, disk = 2, descriptors = 4, rights = 8, file_size = 16, interrupted = 32 };

template <class Value>
struct BeginAndEnd {
    Value begin, end;
};

struct Header {
    char magic[8];
    FormatSizes format;
    BeginAndEnd<Moment> time;  // end = 0: the process did not end normally
    ProcessNumbers numbers;
    Room room;
    BeginAndEnd<KernelCounts> counts;
    char host[64], program[512], command[2048];
    char calls[kHeaderBytes / 2];             // lines of "name number group": a reader needs no other list
    BeginAndEnd<KernelCounts> thread_counts;  // of the thread that read the counts, without ended children of the process
    KernelCounts own;                         // I/O of the tracer itself since the beginning, as the kernel counts it
    BeginAndEnd<LoaderCounts> loader;         // 0: not known
};

static_assert(sizeof(Event) == kSlotBytes && sizeof(Name) <= kSlotBytes && sizeof(ChunkHead) == kSlotBytes);
static_assert(sizeof(MergedSums) == kSlotBytes && sizeof(Merged) == 7 * kSlotBytes && offsetof(Merged, sums) == kSlotBytes);
static_assert(sizeof(Counter) == 2 * kSlotBytes && sizeof(Header) <= kHeaderBytes);
static_assert(offsetof(Header, room) == 72 && offsetof(Header, counts) == 96 && offsetof(Header, calls) == 2816);
static_assert(offsetof(Header, thread_counts) == 11008 && offsetof(Header, own) == 11104 && offsetof(Header, loader) == 11152);

constexpr uint64_t hash_of(const char* text, uint64_t bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (uint64_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<uint8_t>(text[i])) * 0x100000001b3;
    return hash == 0 ? 1 : hash;
}

}  // namespace tailrace::trace
