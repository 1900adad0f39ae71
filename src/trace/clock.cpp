#include "trace/clock.hpp"

#include <cpuid.h>
#include <string.h>
#include <time.h>

#include "trace/raw.hpp"

namespace tailrace::trace {

extern "C" {
constinit ClockAnchor tailrace_clock_anchor = {};
}

namespace {

constexpr uint64_t kValidNs = 1'000'000, kLeastBaseNs = 1'000'000, kBaseNs = 100'000'000;
constexpr uint64_t kMostReadTicks = 600;  // a reading of both clocks that takes longer was interrupted, and is not used

constinit std::atomic<bool> uses_ticks = false;

struct Reading {
    uint64_t ticks, ns;
};

// Where the rate of the counter is measured from, and the reading that replaces it when that is old enough. Changed by the thread
// that has made the anchor's version odd.
struct Rate {
    Reading base, next_base;
};
constinit Rate rate = {};

uint64_t kernel_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// 2^32 times the ns of a tick, measured since the base; 0: the time since the base is too short.
uint64_t measured_scale(const Reading& now) {
    if (rate.base.ns == 0 || now.ticks <= rate.base.ticks || now.ns <= rate.base.ns) {
        rate.base = rate.next_base = now;
        return 0;
    }
    const Reading from = rate.base;
    if (now.ns - rate.next_base.ns > kBaseNs) {
        rate.base = rate.next_base;
        rate.next_base = now;
    }
    if (now.ns - from.ns < kLeastBaseNs) return 0;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(now.ns - from.ns) << 32) / (now.ticks - from.ticks));
}

// Begins a new anchor at the time where the old one ends, so that no thread sees the time go back. A reading is wrong by some 20
// ns, and the rate by some millionths, so the old anchor may be ahead of the kernel's clock. The new one is then slower, and is
// equal to the kernel's clock at its end.
void renew(const Reading& now) {
    ClockAnchor& anchor = tailrace_clock_anchor;
    const uint64_t scale = measured_scale(now), old_valid = anchor.valid_ticks.load(std::memory_order_relaxed);
    if (scale == 0 || scale >> 32 != 0) return anchor.valid_ticks.store(0, std::memory_order_relaxed);
    const uint64_t passed = now.ticks - anchor.ticks.load(std::memory_order_relaxed);
    const uint64_t old_scale = anchor.scale.load(std::memory_order_relaxed);
    const uint64_t old_ns =
        anchor.ns.load(std::memory_order_relaxed) + ns_since_anchor(passed < old_valid ? passed : old_valid, old_scale);
    const uint64_t ahead = old_valid != 0 && old_ns > now.ns ? old_ns - now.ns : 0;
    const bool can_catch_up = ahead < kValidNs / 2;
    const uint64_t valid = (kValidNs << 32) / scale;
    anchor.ticks.store(now.ticks, std::memory_order_relaxed);
    anchor.ns.store(can_catch_up ? now.ns + ahead : now.ns, std::memory_order_relaxed);
    anchor.scale.store(can_catch_up ? scale - (ahead << 32) / valid : scale, std::memory_order_relaxed);
    anchor.valid_ticks.store(valid, std::memory_order_relaxed);
}

}  // namespace

// Uses the counter only if the kernel's clock is `tsc`. The kernel checks the counter: it changes to another clock if the counter
// differs between processors, or its rate changes.
void use_tick_counter() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kPowerLeaf = 0x80000007, kIsInvariant = 1u << 8;
    if (__get_cpuid(kPowerLeaf, &a, &b, &c, &d) == 0 || (d & kIsInvariant) == 0) return;
    char name[8] = "";
    if (raw::read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name - 1) != 4) return;
    if (memcmp(name, "tsc\n", 4) == 0) uses_ticks.store(true, std::memory_order_relaxed);
}

uint64_t now_ns_of_kernel() {
    if (!uses_ticks.load(std::memory_order_relaxed)) return kernel_ns();
    const uint64_t before = __rdtsc();
    const uint64_t ns = kernel_ns();
    const uint64_t after = __rdtsc();
    if (after - before > kMostReadTicks) return ns;
    ClockAnchor& anchor = tailrace_clock_anchor;
    uint32_t version = anchor.version.load(std::memory_order_relaxed);
    if ((version & 1) != 0 || !anchor.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return ns;
    std::atomic_thread_fence(std::memory_order_release);
    renew({before + (after - before) / 2, ns});
    const bool is_valid = anchor.valid_ticks.load(std::memory_order_relaxed) != 0;
    const uint64_t renewed_ns = is_valid ? anchor.ns.load(std::memory_order_relaxed) : ns;
    anchor.version.store(version + 2, std::memory_order_release);
    return renewed_ns;
}

}  // namespace tailrace::trace
