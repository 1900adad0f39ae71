// The log of one process, byte for byte (docs/trace-log.md): a header, then chunks of slots of 64 bytes. A thread fills a chunk of
// its own, and when it ends another one goes on in it; what was recorded is in the file at once, so that a process may be killed at
// any moment. Little-endian.
#pragma once

#include <cstdint>

namespace tailrace::trace {

enum class Call : uint16_t {
    none = 0,  // a slot that was not filled, or whose thread was killed while it did
#define TAILRACE_CALL(name, number, group) name = (number),
#include "trace/calls.def"
#undef TAILRACE_CALL
    counter = 0xFFFD,
    chunk = 0xFFFE,
    name = 0xFFFF,
};

constexpr char kMagic[8] = {'T', 'R', 'T', 'R', 'A', 'C', 'E', '\n'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kHeaderBytes = 16384, kSlotBytes = 64, kChunkBytes = 64u << 10;
constexpr uint32_t kSlotsOfChunk = kChunkBytes / kSlotBytes;
constexpr int64_t kNowhere = -1;  // an offset that the call does not say

// Flags of an event: within which libraries' calls it was made.
enum class Within : uint16_t { mpi = 1, hdf5 = 2, netcdf = 4, pnetcdf = 8 };
constexpr uint16_t kInserted = 256;  // and that it was ours: a barrier that the user asked for

// One call. Times: CLOCK_MONOTONIC of the node.
struct Event {
    uint64_t begin_ns, end_ns;
    uint16_t call;  // stored last: what is there is whole
    uint16_t flags;
    int32_t descriptor;  // or -1
    uint64_t file;       // the id of its name; 0: none
    int64_t offset;      // in the file, or kNowhere
    uint64_t bytes;      // asked for
    int64_t result;      // of the call; -errno where it failed
    uint64_t detail;     // flags of open, whence of seek, protection of mmap, the second name of rename ...
};

// A name begins here and goes on in the slots behind it. Its id is the FNV-1a hash of its bytes, so a torn one is found out.
struct Name {
    uint64_t file;
    uint32_t bytes, slots;  // slots: with this one
    uint16_t call;          // Call::name
    char text[kSlotBytes - 18];
};

// The first slot of a chunk, and of what another thread writes into it.
struct ChunkHead {
    uint64_t begin_ns;
    uint32_t thread, process;
    uint16_t call;  // Call::chunk
    uint16_t kind;  // 0: events and names, 1: counters
    uint32_t reserved[11];
};

// What is still known of a file when no more events may be stored: two slots.
struct Counter {
    uint64_t file;
    uint64_t calls;
    uint16_t call;  // Call::counter
    uint16_t reserved16;
    uint32_t reserved32;
    uint64_t reads, writes, bytes_read, bytes_written, failed;
    uint64_t busy_ns, first_ns, last_ns;
    uint64_t reserved[5];
};

// /proc/self/io, in its order.
struct KernelCounts {
    uint64_t read_bytes, written_bytes, read_calls, write_calls, device_read_bytes, device_written_bytes;
};

// What the loader has read of programs and libraries, as far as can be told from those that it has loaded.
struct LoaderCounts {
    uint64_t read_bytes, read_calls;
};

struct Header {
    char magic[8];
    uint32_t version, header_bytes, chunk_bytes, slot_bytes;
    uint64_t begin_ns, begin_real_ns;  // CLOCK_MONOTONIC and CLOCK_REALTIME at the same moment
    uint64_t end_ns, end_real_ns;      // 0: the process did not end by itself
    int32_t process, parent, rank, ranks;
    uint64_t budget_bytes, dropped_events;
    uint32_t chunks, reserved;
    KernelCounts at_begin, at_end;
    char host[64], program[512], command[2048];
    char calls[kHeaderBytes / 2];                 // lines of "name number group": so a log needs no list beside it
    KernelCounts thread_at_begin, thread_at_end;  // of the threads that asked: without children that were waited for
    KernelCounts own;                             // what the tracer itself has done since the beginning, as the kernel counts it
    LoaderCounts loader_at_begin, loader_at_end;  // 0: not known
};

static_assert(sizeof(Event) == kSlotBytes && sizeof(Name) <= kSlotBytes && sizeof(ChunkHead) == kSlotBytes);
static_assert(sizeof(Counter) == 2 * kSlotBytes && sizeof(Header) <= kHeaderBytes);

constexpr uint64_t hash_of(const char* text, uint64_t bytes) {
    uint64_t hash = 0xcbf29ce484222325;
    for (uint64_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<uint8_t>(text[i])) * 0x100000001b3;
    return hash == 0 ? 1 : hash;
}

}  // namespace tailrace::trace
