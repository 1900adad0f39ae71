#include "stage/early_copier.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/clock.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "stage/sink.hpp"
#include "stage/states.hpp"

namespace tailrace {
namespace {

constexpr int kMostFailures = 3;
// Files are copied in pieces of so many files. It is small, because a piece that a kill interrupts is copied again.
constexpr size_t kPieceFiles = 128;
constexpr uint64_t kPieceBytes = 16u << 20;

int64_t age_ns(const Identity& file) {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    constexpr int64_t kSecond = 1000000000;
    return now.tv_sec * kSecond + now.tv_nsec - file.ctime_ns;
}

// Whether a further change of the file would change its times. The kernel's clock for files has ticks of up to 10 ms, and a second
// change in the same tick does not change the times.
bool is_past_its_tick(const Identity& file) {
    constexpr int64_t kTicks_ns = 50'000'000;
    return age_ns(file) >= kTicks_ns;
}

void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

EarlyCopier::EarlyCopier(Scratch& scratch, EarlyOptions options)
    : scratch_(scratch), options_(std::move(options)), journal_(early_journal_path(scratch.state_path())) {
    for (const Json& line : read_journal(scratch_.state_path() + "/journal.jsonl").lines)
        if (line.value("kind", "") == "begin") outer_ = ".tailrace-drain-" + line.at("token").get<std::string>();
    if (outer_.empty())
        fail(Status::BAD_ARGUMENT, scratch_.path(), " has no drain that was announced: `tailraced announce` does it");
    known_ = read_early_journal(scratch_.state_path());
    left_paths_.insert(known_.dropped_paths.begin(), known_.dropped_paths.end());
    if (!known_.folder.empty()) folder_ = WorkFolder::take_over(options_.target, outer_, known_.folder);
    if (!folder_) known_.copies.clear();
    for (const auto& [key, copy] : known_.copies) {
        left_paths_.insert(copy.path);
        next_name_ = std::max<uint64_t>(next_name_, std::stoull(copy.name) + 1);
    }
    // Remove copies that an earlier, killed copier has not recorded in the journal.
    std::set<std::string> names;
    for (const auto& [key, copy] : known_.copies) names.insert(copy.name);
    if (folder_) folder_->remove_all_but(names);
}

void EarlyCopier::run() {
    constexpr double kShare = 20, kMostPause_s = 1, kLeastPause_s = 0.01;
    while (true) {
        const double began_s = seconds_now();
        bool is_done = true;
        try {
            is_done = look();
        } catch (const Error& error) {
            if (options_.is_once) throw;
            has_failed(error);
        }
        if (options_.is_once && is_done) break;
        // The pause keeps the use of the processor small, also with many files.
        const double pause_s = std::clamp(options_.quiet_s / 2, kLeastPause_s, kMostPause_s);
        sleep_s(std::max(pause_s, kShare * (seconds_now() - began_s) * (is_done ? 1 : 0)));
    }
    if (folder_) folder_->keep();
}

// Copies all files that may be copied now. False: some file may be copied later.
bool EarlyCopier::look() {
    std::set<FileKey> present;
    std::vector<std::string> wanted;
    bool is_done = true;
    for (const std::string& path : scratch_.scan()) {
        struct stat status;
        if (!scratch_.look_at(path, status) || !S_ISREG(status.st_mode)) continue;
        const Identity now = Identity::of(status);
        const bool is_first_name = present.insert(key_of(now)).second;
        const Fate fate = is_first_name ? fate_of(path, now) : Fate::leave;
        if (fate == Fate::wait) is_done = false;
        if (fate == Fate::copy) wanted.push_back(path);
    }
    std::vector<FileKey> gone;
    for (const auto& [key, copy] : known_.copies)
        if (!present.contains(key)) gone.push_back(key);
    for (const FileKey& key : gone) drop(key, false);
    copy_all(wanted);
    return is_done;
}

// What to do with a file. A file that changes after it was copied, and one that gets its name, are copied at the end only. A new
// name or mode does not count as a change.
EarlyCopier::Fate EarlyCopier::fate_of(const std::string& path, const Identity& now) {
    const FileKey key = key_of(now);
    if (const auto found = known_.copies.find(key); found != known_.copies.end()) {
        if (!now.has_content_of(found->second.made_of)) drop(key, true);
        return Fate::leave;
    }
    if (!known_.stopped_because.empty() || left_files_.contains(key) || left_paths_.contains(path)) return Fate::leave;
    constexpr double kNanoseconds = 1e9;
    return static_cast<double>(age_ns(now)) < options_.quiet_s * kNanoseconds ? Fate::wait : Fate::copy;
}

void EarlyCopier::drop(const FileKey& key, bool has_changed) {
    const EarlyCopy& copy = known_.copies.at(key);
    if (folder_) ::unlinkat(folder_->descriptor(), copy.name.c_str(), 0);
    note({{"kind", "dropped"}, {"device", key.first}, {"inode", key.second}});
    if (has_changed) left_files_.insert(key);
    known_.copies.erase(key);
    reach(DrainState::early_dropped);
}

void EarlyCopier::copy_all(const std::vector<std::string>& paths) {
    for (size_t at = 0; at < paths.size() && known_.stopped_because.empty();) {
        std::vector<Item> items;
        try {
            scratch_.look_for_writers();
            for (uint64_t bytes = 0; at < paths.size() && items.size() < kPieceFiles && bytes < kPieceBytes; ++at) {
                const size_t before = items.size();
                take(paths[at], items);
                if (items.size() > before) bytes += items.back().identity.size_bytes;
            }
            if (!items.empty()) copy(items);
        } catch (const Error& error) {
            has_failed(error);
        }
        for (Item& item : items) scratch_.give_up(item);
    }
}

void EarlyCopier::take(const std::string& path, std::vector<Item>& items) {
    Item item;
    try {
        const Taken taken = scratch_.take(path, item);
        const bool is_wanted = taken == Taken::taken && item.kind == ItemKind::file &&
                               !known_.copies.contains(key_of(item.identity)) && has_room(items, item.identity.size_bytes);
        // Hold the lease for a moment only, so that a program which opens the file later neither waits nor gets EAGAIN.
        if (is_wanted && scratch_.has_no_writer_now(item)) {
            items.push_back(std::move(item));
            reach(DrainState::early_found);
            return;
        }
    } catch (const Error&) {  // the drain at the end tries the file again, and reports its error
        left_paths_.insert(path);
    }
    scratch_.give_up(item);
}

// Whether the target has room for the copies. Leaves room for files that the program makes at the target, and for new versions of
// copied files.
bool EarlyCopier::has_room(const std::vector<Item>& items, uint64_t bytes) const {
    for (const Item& item : items) bytes += item.identity.size_bytes;
    struct statvfs is;
    return ::statvfs(options_.target.c_str(), &is) == 0 && bytes <= is.f_bavail * is.f_frsize / 2;
}

void EarlyCopier::make_folder() {
    if (folder_) return;
    folder_ = std::make_unique<WorkFolder>(options_.target, outer_);
    journal_.append({{"kind", "folder"}, {"token", folder_->token()}}, false);
}

void EarlyCopier::copy(std::vector<Item>& items) {
    make_folder();
    const uint64_t first = next_name_;
    next_name_ += items.size();
    const std::unique_ptr<Sink> sink =
        make_mirror({.target = options_.target, .temporary = folder_->path(), .name = {}, .first = first});
    std::vector<bool> is_quiet;
    try {
        for (const Item& item : items) is_quiet.push_back(is_past_its_tick(item.identity) && times_show_changes(item.file.get()));
        try {
            sink->add(items, [] { reach(DrainState::early_copied); });
        } catch (const Error& error) {
            if (error.status() != Status::CORRUPT || !leave_changed(items)) throw;
            sink->abandon();
            return;
        }
        sink->sync();
        reach(DrainState::early_synced);
        sink->compare();
        reach(DrainState::early_compared);
        scratch_.look_for_writers();
        for (size_t at = 0; at < items.size(); ++at) record(items[at], std::to_string(first + at), is_quiet[at]);
    } catch (...) {
        sink->abandon();
        for (const Item& item : items)  // the copies of recorded items were removed
            if (known_.copies.contains(key_of(item.identity))) drop(key_of(item.identity), false);
        throw;
    }
}

void EarlyCopier::record(const Item& item, const std::string& name, bool is_quiet) {
    struct stat status;
    EarlyCopy copy{.name = name, .path = item.path, .made_of = item.identity, .copy = {}, .sum = item.sum, .shows_changes = false};
    if (::fstat(item.file.get(), &status) != 0) fail_system("look at", item.path, errno);
    const Identity now = Identity::of(status);
    const bool is_same = now.has_content_of(item.identity) && now.links > 0 && scratch_.has_no_writer_now(item);
    copy.shows_changes = is_quiet && now == item.identity;
    if (::fstatat(folder_->descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) fail_system("look at", name, errno);
    copy.copy = Identity::of(status);
    if (!is_same) {
        ::unlinkat(folder_->descriptor(), name.c_str(), 0);
        if (now.links > 0) leave_to_the_end(item);
        return;
    }
    journal_.append(line_of(copy), false);
    left_paths_.insert(item.path);  // another file of this name: the program replaces it again and again
    known_.copies.insert_or_assign(key_of(item.identity), std::move(copy));
    reach(DrainState::early_recorded);
}

// Appends to the journal; an error is ignored, because the drain at the end finds the same without the line.
void EarlyCopier::note(const Json& line) {
    try {
        journal_.append(line, false);
    } catch (const Error& error) {
        if (error.status() != Status::NO_SPACE) throw;
    }
}

// Leaves the files that have changed since they were taken to the end. False: none has.
bool EarlyCopier::leave_changed(const std::vector<Item>& items) {
    bool has_any = false;
    for (const Item& item : items) {
        struct stat status;
        if (::fstat(item.file.get(), &status) == 0 && Identity::of(status).has_content_of(item.identity)) continue;
        leave_to_the_end(item);
        has_any = true;
    }
    return has_any;
}

void EarlyCopier::leave_to_the_end(const Item& item) {
    left_files_.insert(key_of(item.identity));
    left_paths_.insert(item.path);
}

void EarlyCopier::has_failed(const Error& error) {
    if (error.status() != Status::NO_SPACE && ++failures_ < kMostFailures) return;
    known_.stopped_because = error.what();
    note({{"kind", "stopped"}, {"why", error.what()}});
}

}  // namespace tailrace
