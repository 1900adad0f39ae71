#include "trace/kernel.hpp"

#include <string.h>

#include "trace/raw.hpp"

namespace tailrace::trace {
namespace {

// How many bytes were read for it is added to `asking`.
KernelCounts counts_of(const char* path, KernelCounts& asking) {
    char text[512] = "";
    const int64_t bytes = raw::read_file(path, text, sizeof text - 1);
    KernelCounts counts = {};
    if (bytes < 0) return counts;
    asking.read_bytes += static_cast<uint64_t>(bytes);
    asking.read_calls += 2;  // the second has found the end
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

KernelCounts count_thread(KernelCounts& asking) { return counts_of("/proc/thread-self/io", asking); }

Counted count_now() {
    Counted now = {};
    now.process = counts_of("/proc/self/io", now.asking);
    const KernelCounts before = now.asking;
    now.thread = count_thread(now.asking);
    now.thread.read_bytes -= before.read_bytes;
    now.thread.read_calls -= before.read_calls;
    return now;
}

}  // namespace tailrace::trace
