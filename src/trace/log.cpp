#include "trace/log.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "environment/variables.hpp"
#include "trace/atomics.hpp"
#include "trace/call_kinds.hpp"
#include "trace/counters.hpp"
#include "trace/kernel.hpp"
#include "trace/log_file.hpp"
#include "trace/merging.hpp"
#include "trace/process.hpp"
#include "trace/raw.hpp"
#include "trace/slots.hpp"

namespace tailrace::trace {
namespace {

constexpr uint64_t kDefaultBudgetBytes = 64u << 20;

constinit std::atomic<void*> process_state = nullptr;

uint64_t time_of(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void add_reads(KernelCounts& to, const KernelCounts& more) {
    to.read_bytes += more.read_bytes;
    to.read_calls += more.read_calls;
}

Moment now() { return {time_of(CLOCK_MONOTONIC), time_of(CLOCK_REALTIME)}; }

// The settings when the first process of this memory began, so that a child of fork records even if its parent has cleared the
// environment.
struct Settings {
    char folder[4096];  // empty: not known
    uint64_t budget_bytes;
};
constinit Settings settings = {};

void find_settings() {
    if (*settings.folder != '\0') return;
    const char* folder = getenv(variable::TRACE);
    if (folder == nullptr) return;
    settings.budget_bytes = number_at(getenv(variable::TRACE_BYTES), kDefaultBudgetBytes);
    raw::put_text(settings.folder, folder, sizeof settings.folder);
}

// Begins the log. Returns whether this process records.
bool begin_log(ProcessState& process) {
    find_settings();
    if (*settings.folder == '\0') return false;
    static Header described;
    described = {};
    use_tick_counter();  // before the kernel's counts are taken, which so do not have what this reads
    describe_process(described);
    described.time.begin = now();
    if (is_launcher(described.program)) return false;
    process.header = create_log_file(process, settings.folder, described);
    if (process.header == nullptr) return false;
    described.room.budget_bytes = settings.budget_bytes;
    const uint64_t chunks = described.room.budget_bytes / kChunkBytes;
    process.merging.shift.store(kNotMerging);
    process.chunk_limit = static_cast<uint32_t>(chunks <= kReservedChunks ? kReservedChunks + 1 : chunks);
    *process.header = described;
    watch_thread_ends();
    return true;
}

// The state of this process, whose log is begun if needed. nullptr: another thread is beginning the log, or this is a signal
// handler that has interrupted the beginning.
[[gnu::noinline]] ProcessState* begin_process(ProcessState& process) {
    LogState not_begun = LogState::not_begun;
    if (!process.state.compare_exchange_strong(not_begun, LogState::beginning)) return nullptr;
    static std::atomic<uint32_t> serials = 0;
    process.serial = ++serials;
    const bool records = begin_log(process);
    process.state.store(records ? LogState::on : LogState::off, std::memory_order_release);
    return records ? &process : nullptr;
}

// Where the process has other threads, sleeps for a moment: one of them may have made a call that the kernel has counted, and not
// recorded it yet. After the end of the process it cannot.
void let_threads_record() {
    struct stat tasks;
    constexpr nlink_t kOfOneThread = 3;
    if (raw::call(SYS_newfstatat, AT_FDCWD, raw::address("/proc/self/task"), raw::address(&tasks), 0) != 0) return;
    if (tasks.st_nlink <= kOfOneThread) return;
    constexpr timespec kMoment = {.tv_sec = 0, .tv_nsec = 1'000'000};
    raw::call(SYS_nanosleep, raw::address(&kMoment));
}

}  // namespace

ProcessState* recording_process() {
    auto* process = static_cast<ProcessState*>(process_memory(process_state, sizeof(ProcessState)));
    if (process == nullptr) return nullptr;
    const LogState state = process->state.load(std::memory_order_acquire);
    if (state == LogState::on) [[likely]]
        return process;
    return state == LogState::not_begun ? begin_process(*process) : nullptr;
}

ProcessState* begun_process() {
    auto* process = static_cast<ProcessState*>(process_state.load(std::memory_order_acquire));
    return process != nullptr && process->state.load(std::memory_order_acquire) == LogState::on ? process : nullptr;
}

bool is_recording() { return recording_process() != nullptr; }

bool has_own_log() {
    const ProcessState* process = recording_process();
    return process != nullptr && process->header->numbers.process == static_cast<int32_t>(raw::call(SYS_getpid));
}

void record(const Event& event) {
    ProcessState* process = recording_process();
    if (process == nullptr) return;
    const int32_t shift = process->merging.shift.load(std::memory_order_relaxed);
    if (shift != kNotMerging && merge_event(*process, event, shift)) return;
    auto* slot = static_cast<Event*>(claim_slots(*process, 1));
    if (slot == nullptr && is_kept(kind_of(event.call))) slot = static_cast<Event*>(claim_slots_beyond_budget(*process, 1));
    if (slot == nullptr) return count_event(*process, event);
    const uint16_t call = event.call;
    Event without_call = event;
    without_call.call = 0;
    *slot = without_call;
    as_atomic(slot->call).store(call, std::memory_order_release);
}

const char* name_of(Call call) {
    switch (static_cast<uint16_t>(call)) {
#define TAILRACE_CALL(name, number, group) \
    case number: return #name;
#include "trace/calls.def"
#undef TAILRACE_CALL
        default: return "";
    }
}

void set_rank(int32_t rank, int32_t ranks) {
    const ProcessState* process = recording_process();
    if (process == nullptr) return;
    process->header->numbers.rank = rank;
    process->header->numbers.ranks = ranks;
}

void end_log() {
    ProcessState* process = begun_process();
    if (process == nullptr) return;
    process->merging.generation.fetch_add(1);  // later calls are in no count, so they are in other records
    KernelCountsNow counts = kernel_counts_now();
    // What this took is counted from now on: for the process where an exec fails, and for the parent that waits for it.
    for (KernelCounts* of : {&counts.process, &counts.thread}) add_reads(*of, counts.own_reads);
    add_own_reads(counts.own_reads);
    process->header->counts.end = counts.process;
    process->header->thread_counts.end = counts.thread;
    process->header->time.end = now();
    let_threads_record();
}

void add_own_reads(const KernelCounts& counts) {
    const ProcessState* process = recording_process();
    if (process == nullptr) return;
    add(process->header->own.read_bytes, counts.read_bytes);
    add(process->header->own.read_calls, counts.read_calls);
}

void set_loader_at_begin(const LoaderCounts& counts) {
    if (const ProcessState* process = recording_process()) process->header->loader.begin = counts;
}

void set_loader_at_end(const LoaderCounts& counts) {
    if (const ProcessState* process = recording_process()) process->header->loader.end = counts;
}

}  // namespace tailrace::trace
