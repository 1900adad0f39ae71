// How long ranks spin, sleep and poll while they wait for each other: every such constant of gather/ and forward/, with what it was
// measured on. Measurements are from the development machine, a virtual machine with 2 cores. docs/decisions/0005, 0006 and 0007
// give the reasons.
#pragma once

#include <chrono>

namespace tailrace::waiting {

// Spinning. A rank that waits polls without giving up its core for this long, then sleeps.
//
// With a core for every rank of the node: about what rank 0 takes to commit a step. A rank that sleeps has to be woken, which is
// slow on a virtual machine. Ten steps of 100 arrays of 64 KiB, 2 ranks on 2 cores: 22.9 ms instead of 26.0 ms (medians of three
// runs each, interleaved; 2026-11-23).
inline constexpr double kSpinOwnCoreS = 200e-6;
// With more ranks than cores: a rank that spins takes the core from the rank that it waits for. The value itself: not recorded
// (2026-11-22).
inline constexpr double kSpinSharedCoreS = 10e-6;
// Polls between two readings of the clock. Not recorded (2026-11-23).
inline constexpr int kPollsPerClockReading = 16;

// Back-off (backoff.hpp), for messages: after spinning, each sleep lasts this fraction of the time waited so far. So what a rank
// waits for is noticed late by an eighth of the wait at most. With more ranks than cores, ranks that only yielded took the core of
// the lone writer (docs/decisions/0006). The fraction itself: not recorded (2026-11-21).
inline constexpr double kSleepFraction = 1.0 / 8;
// No single sleep is longer. Not recorded (2026-11-21).
inline constexpr double kLongestSleepS = 500e-6;

// Agreements of a node (node_board.hpp): a rank asleep on the futex wakes this often and lets MPI make progress. Another rank may
// wait for a message that this one has begun to send, so that without a bound both wait for ever (docs/decisions/0007). The value
// itself: not recorded (2026-11-21).
inline constexpr auto kProgressInterval = std::chrono::microseconds(500);

// The exchange (node_memory.hpp): a rank asleep at its doorbell wakes this often if messages are under way, which ring no bell, or
// if a core of the node has no writer. Then polling beats sleeping, since the writer need not wake the others: `node`, 100 small
// arrays, reaches 0.735 of raw writes instead of 0.69 (medians of 6 runs each, interleaved; 2026-11-25; docs/decisions/0005).
inline constexpr auto kDoorbellPollInterval = std::chrono::microseconds(200);
// Otherwise it sleeps until its bell rings. Polling every 0.2 ms took the core from the writer 150 times in a step of 256 MiB (4
// ranks on 2 cores). With sleep `split:2` writes 512 MiB on /dev/shm in 98 to 106 ms instead of 100 to 111 (medians of 8 runs
// each, interleaved; 2026-11-25; docs/decisions/0005). The bound only guards against a lost wake-up; its value: not recorded.
inline constexpr auto kDoorbellSleepBound = std::chrono::milliseconds(100);

// Before a rank without memory aborts the job (memory_failure.hpp). MPICH's launcher drops what it has not read yet of a rank's
// standard error: in one of ten such ends on a busy machine the reason was lost (2026-11-24).
inline constexpr auto kBeforeAbort = std::chrono::milliseconds(500);

}  // namespace tailrace::waiting
