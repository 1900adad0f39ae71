// What the kernel counts of this process (/proc/self/io), against which the log can be held.
#pragma once

#include "trace/format.hpp"

namespace tailrace::trace {

struct Counted {
    KernelCounts process;  // all threads, those that have ended and children that were waited for with them
    KernelCounts thread;   // this one
    KernelCounts asking;   // what it took to ask, which later counts contain and these two do not
};
Counted count_now();

// Of this thread; what it took to ask is added to `asking`, which the next answer contains.
KernelCounts count_thread(KernelCounts& asking);

// Decimal digits at the beginning of a text as a number, or `otherwise`.
uint64_t number_at(const char* text, uint64_t otherwise);

}  // namespace tailrace::trace
