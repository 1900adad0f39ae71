// CLOCK_MONOTONIC, computed from the processor's time-stamp counter (TSC). Reading the counter takes a third of the time of
// clock_gettime, and each event needs two times. The counter is used only if the kernel's clock uses it, too.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

namespace tailrace::trace {

// A moment in ticks and in ns, and how many ns a tick takes after that moment. All threads share it. It is renewed every
// millisecond.
struct ClockAnchor {
    std::atomic<uint32_t> version;  // odd while a thread changes the rest
    std::atomic<uint64_t> ticks, ns;
    std::atomic<uint64_t> scale;        // 2^32 times the ns of a tick
    std::atomic<uint64_t> valid_ticks;  // for how many ticks the anchor is valid; 0: each call uses clock_gettime
};
// Declared extern "C", like other data that hooks access directly.
extern "C" {
[[gnu::visibility("hidden")]] extern ClockAnchor tailrace_clock_anchor;
}

// Starts to use the counter, unless the kernel uses another clock. Called when a log begins; before that, clock_gettime is used.
void use_tick_counter();

// Calls clock_gettime, and renews the anchor.
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
