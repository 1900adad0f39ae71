// The kernel's own counts of this process (/proc/self/io). `tailrace coverage` compares the log with them.
#pragma once

#include "trace/format.hpp"

namespace tailrace::trace {

struct KernelCountsNow {
    KernelCounts process;    // of all threads, also ended ones, and of children that were waited for
    KernelCounts thread;     // of this thread
    KernelCounts own_reads;  // the cost of reading these counts: not in the two above, but in all later counts
};
KernelCountsNow kernel_counts_now();

// The counts of this thread. Adds the cost of reading them to `own_reads`; later counts contain this cost.
KernelCounts kernel_counts_of_thread(KernelCounts& own_reads);

// The number that the decimal digits at the beginning of a text make; `otherwise` if there are none.
uint64_t number_at(const char* text, uint64_t otherwise);

}  // namespace tailrace::trace
