#include "trace/kernel.hpp"

#include <string.h>

#include "trace/raw.hpp"

namespace tailrace::trace {
namespace {

// Reads the counts from a file of /proc. Adds the cost of this reading to `own_reads`.
KernelCounts read_counts(const char* path, KernelCounts& own_reads) {
    char text[512] = "";
    const int64_t bytes = raw::read_file(path, text, sizeof text - 1);
    KernelCounts counts = {};
    if (bytes < 0) return counts;
    own_reads.read_bytes += static_cast<uint64_t>(bytes);
    own_reads.read_calls += 2;  // the second finds the end of the file
    uint64_t* const fields[] = {&counts.read_bytes,  &counts.written_bytes,     &counts.read_calls,
                                &counts.write_calls, &counts.device_read_bytes, &counts.device_written_bytes};
    const char* at = text;
    for (uint64_t* field : fields) {
        at = strchr(at, ':');
        if (at == nullptr) break;
        at += 2;
        *field = number_at(at, 0);
    }
    return counts;
}

}  // namespace

uint64_t number_at(const char* text, uint64_t otherwise) {
    if (text == nullptr || *text < '0' || *text > '9') return otherwise;
    uint64_t number = 0;
    for (; *text >= '0' && *text <= '9'; ++text) number = number * 10 + static_cast<uint64_t>(*text - '0');
    return number;
}

KernelCounts kernel_counts_of_thread(KernelCounts& own_reads) { return read_counts("/proc/thread-self/io", own_reads); }

KernelCountsNow kernel_counts_now() {
    KernelCountsNow now = {};
    now.process = read_counts("/proc/self/io", now.own_reads);
    const KernelCounts before = now.own_reads;
    now.thread = kernel_counts_of_thread(now.own_reads);
    now.thread.read_bytes -= before.read_bytes;
    now.thread.read_calls -= before.read_calls;
    return now;
}

}  // namespace tailrace::trace
