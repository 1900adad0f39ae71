#include "stage/status.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/clock.hpp"
#include "base/journal.hpp"
#include "base/system_error.hpp"
#include "stage/early_copies.hpp"
#include "stage/journal_path.hpp"

namespace tailrace {
namespace {

LockState lock_of(int folder) {
    const Descriptor state = open_beneath(folder, kStateFolder, O_RDONLY | O_DIRECTORY);
    return state.is_open() ? take_lock(state.get(), "lock").state : LockState::absent;
}

void read_line(const Json& line, DrainStatus& status, std::map<uint64_t, uint64_t>& published) {
    const std::string kind = line.value("kind", "");
    if (kind == "published") {
        published[line.at("number")] = line.value("count", line.at("files").size());
        status.delivered_files += line.value("count", line.at("files").size());
        status.delivered_bytes += line.value("bytes", uint64_t{0});
    } else if (kind == "freed") {
        published.erase(line.at("number").get<uint64_t>());
    } else if (kind == "start") {
        status.outcome = DrainOutcome::killed;
        status.target = path_of_hex(line.at("target"));
        status.form.sink = line.at("sink");
        status.form.bundle_bytes = line.at("bundle_bytes");
        status.form.compression = line.value("compression", "none");
        status.started_s = line.at("time_s");
        status.process = line.at("process");
        status.ended_s = 0;
        status.left.clear();
        status.stopped_because.clear();
    } else if (kind == "stopped") {
        status.outcome = DrainOutcome::stopped;
        status.ended_s = line.at("time_s");
        status.stopped_because = line.at("why");
    } else if (kind == "end") {
        status.outcome = DrainOutcome::ended;
        status.ended_s = line.at("time_s");
        for (const Json& one : line.at("left")) status.left.push_back({path_of_hex(one.at(0)), one.at(1)});
    }
}

bool is_there(int folder, const std::string& path, struct stat& status) {
    std::string name;
    const Descriptor parent = open_parent(folder, path, false, name);
    return parent.is_open() && ::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

const char* outcome_name(DrainOutcome outcome) {
    constexpr const char* kNames[] = {"none", "running", "ended", "stopped", "killed"};
    return kNames[static_cast<uint8_t>(outcome)];
}

DrainStatus status_of(const std::string& scratch) {
    const Descriptor folder = open_folder(scratch);
    DrainStatus status;
    std::map<uint64_t, uint64_t> published;
    // Test the lock before reading the journal: a drain that ends in between has written its last line before it frees the lock.
    const bool is_running = lock_of(folder.get()) == LockState::held;
    for (const Json& line : read_journal(scratch + "/" + kStateFolder + "/journal.jsonl").lines) read_line(line, status, published);
    if (is_running) status.outcome = DrainOutcome::running;
    for (const auto& [number, count] : published) status.to_remove += count;
    EarlyJournal early = read_early_journal(scratch + "/" + kStateFolder);
    status.early.stopped_because = std::move(early.stopped_because);
    for (const std::string& path : scan_below(folder.get())) {
        struct stat is;
        if (!is_there(folder.get(), path, is) || S_ISDIR(is.st_mode)) continue;
        ++status.staged_files;
        if (S_ISREG(is.st_mode)) status.staged_bytes += static_cast<uint64_t>(is.st_size);
        if (early.copies.erase(key_of(Identity::of(is))) > 0) {  // a file with several names has one copy
            ++status.early.files;
            status.early.bytes += static_cast<uint64_t>(is.st_size);
        }
        if (status.oldest_s == 0 || is.st_mtim.tv_sec < status.oldest_s) status.oldest_s = is.st_mtim.tv_sec;
    }
    std::erase_if(status.left, [&](const Left& one) {
        struct stat is;
        return !is_there(folder.get(), one.path, is);
    });
    return status;
}

bool wait_for_drain(const std::string& scratch, double seconds) {
    const Descriptor folder = open_folder(scratch);
    const double until_s = seconds_now() + seconds;
    const std::string journal = scratch + "/" + kStateFolder + "/journal.jsonl";
    constexpr auto kPause = std::chrono::milliseconds(50);
    while (true) {
        const LockState lock = lock_of(folder.get());
        const bool has_run =
            lock != LockState::absent && lock != LockState::held &&
            std::ranges::any_of(read_journal(journal).lines, [](const Json& line) { return line.value("kind", "") == "start"; });
        if (has_run) return true;
        if (seconds_now() >= until_s) return false;
        std::this_thread::sleep_for(kPause);
    }
}

}  // namespace tailrace
