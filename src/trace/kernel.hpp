// The kernel's own counts of this process (/proc/self/io). `tailrace coverage` compares the log with them.
#pragma once

#include "trace/format.hpp"

namespace tailrace::trace {

struct KernelCountsNow {
    KernelCounts process;    // of all threads; of ended threads and of children that were waited for, too
    KernelCounts thread;     // of this thread
    KernelCounts own_reads;  // reading these counts: not in the two above, but in all later counts
};
KernelCountsNow kernel_counts_now();

// The counts of this thread. Adds to `own_reads` what reading them took; the next counts contain that.
KernelCounts kernel_counts_of_thread(KernelCounts& own_reads);

// Decimal digits at the beginning of a text as a number; `otherwise` where there are none.
uint64_t number_at(const char* text, uint64_t otherwise);

}  // namespace tailrace::trace
