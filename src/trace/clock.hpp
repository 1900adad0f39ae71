// CLOCK_MONOTONIC, computed from the processor's counter of ticks. Reading the counter takes a third of the time of clock_gettime,
// and each event needs two times. The counter is used where the kernel uses it, too.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

namespace tailrace::trace {

// A moment in ticks and in ns, and from there on the ns of a tick. All threads have the same one. It is renewed every millisecond.
struct ClockAnchor {
    std::atomic<uint32_t> version;  // odd while a thread changes the rest
    std::atomic<uint64_t> ticks, ns;
    std::atomic<uint64_t> scale;        // 2^32 times the ns of a tick
    std::atomic<uint64_t> valid_ticks;  // so long the anchor serves; 0: the kernel is asked at each call
};
// RATIONALE: extern "C", as for other data that hooks reach directly.
extern "C" {
[[gnu::visibility("hidden")]] extern ClockAnchor tailrace_clock_anchor;
}

// Called when a log begins. Until then, and on machines whose kernel uses another clock, the kernel is asked.
void use_tick_counter();

// Asks the kernel, and renews the anchor.
uint64_t now_ns_of_kernel();

inline uint64_t ns_since_anchor(uint64_t passed_ticks, uint64_t scale) { return passed_ticks * scale >> 32; }

inline uint64_t now_ns() {
    const ClockAnchor& anchor = tailrace_clock_anchor;
    const uint32_t version = anchor.version.load(std::memory_order_acquire);
    const uint64_t ns = anchor.ns.load(std::memory_order_relaxed);
    const uint64_t scale = anchor.scale.load(std::memory_order_relaxed);
    const uint64_t valid_ticks = anchor.valid_ticks.load(std::memory_order_relaxed);
    const uint64_t passed = __rdtsc() - anchor.ticks.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_whole = (version & 1) == 0 && version == anchor.version.load(std::memory_order_relaxed);
    // A counter that went back (another machine after a checkpoint) has passed very many ticks here.
    if (is_whole && passed < valid_ticks) [[likely]]
        return ns + ns_since_anchor(passed, scale);
    return now_ns_of_kernel();
}

}  // namespace tailrace::trace
