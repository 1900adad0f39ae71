#include "stage/drain.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"
#include "stage/frames.hpp"
#include "stage/journal_path.hpp"
#include "stage/states.hpp"
#include "stage/stop.hpp"

namespace tailrace {
namespace {

constexpr int kMostTimes = 3;

// The most files of a shipment. Each file of a shipment is open; with the sink `mirror`, its copy is open, too. Raises the limit of
// open files, unless the caller says how many files it wants: then the drain may be in a program of the user.
size_t most_files(const DrainOptions& options) {
    rlimit limit{};
    constexpr size_t kOther = 100, kMost = 16384;
    if (options.shipment_files == 0) allow_most_open_files();
    ::getrlimit(RLIMIT_NOFILE, &limit);
    size_t most = std::min<size_t>(kMost, std::max<size_t>(limit.rlim_cur, 2 * kOther) - kOther);
    if (options.sink == "mirror") most = std::min<size_t>(most / 2, 1024);
    return options.shipment_files == 0 ? most : std::min(most, options.shipment_files);
}

// Removes work folders of earlier drains of this scratch folder; only one drain runs at a time, so they are not in use.
void remove_others(const std::string& outer, const std::string& kept) {
    for (const std::string& token : list_directory(outer))
        if (token != kept) remove_tree(outer + "/" + token);
}

// Device and inode of files on scratch: a new file that gets the name of a torn one meanwhile is not torn.
std::set<FileKey> keys_of(const std::string& scratch, const std::vector<std::string>& paths) {
    std::set<FileKey> keys;
    const Descriptor folder = open_folder(scratch);
    for (const std::string& path : paths) {
        std::string name;
        struct stat status;
        const Descriptor parent = open_parent(folder.get(), path, false, name);
        if (parent.is_open() && ::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            keys.insert(key_of(Identity::of(status)));
    }
    return keys;
}

Json start_line(const DrainOptions& options, uint64_t process) {
    return {{"kind", "start"},
            {"time_s", std::time(nullptr)},
            {"process", process},
            {"target", hex_of_path(options.target)},
            {"sink", options.sink},
            {"bundle_bytes", options.shipment_bytes},
            {"compression", options.compression}};
}

// Moves the files of the last shipment from their names to the state folder.
void set_aside(std::vector<Item>& items, Scratch& scratch, const DrainJournal& journal) {
    for (size_t at = 0; at < items.size(); ++at) {
        if (items[at].kind == ItemKind::folder || items[at].is_set_aside || !scratch.is_unchanged(items[at])) continue;
        scratch.set_aside(items[at], journal.aside_name(at));
        items[at].is_set_aside = true;
        reach(DrainState::set_aside);
    }
}

// Whether an error of a shipment would also be that of each of its files alone.
bool is_for_all(Status status) { return status == Status::NO_SPACE || status == Status::STOPPED || status == Status::IN_USE; }

}  // namespace

Drain::Drain(Scratch& scratch, DrainOptions options, Report report)
    : scratch_(scratch), options_(std::move(options)), report_(std::move(report)) {
    options_.shipment_files = most_files(options_);
    make_directories(options_.target);
    options_.target = std::filesystem::absolute(options_.target);
    journal_.emplace(scratch, options_.target);
}

SinkPlace Drain::place() const {
    char name[32];
    std::snprintf(name, sizeof name, "-%06llu", static_cast<unsigned long long>(journal_->number() + 1));
    return {.target = options_.target,
            .temporary = work_->path(),
            .name = node_name() + "-" + journal_->token() + name,
            .zstd_level = zstd_level_of(options_.compression)};
}

void Drain::announce(uint64_t process) { journal_->note(start_line(options_, process)); }

void Drain::begin() {
    const std::string temporary = journal_->temporary_name();
    early_.emplace(scratch_.state_path(), options_.target, temporary);
    progress_.early_stopped_because = early_->stopped_because();
    remove_others(options_.target + "/" + temporary, early_->folder());
    work_.emplace(options_.target, temporary);
    journal_->note(start_line(options_, static_cast<uint64_t>(::getpid())));
}

DrainProgress Drain::end() {
    early_.reset();
    work_.reset();
    Json left = Json::array();
    for (const Left& one : progress_.left) left.push_back(Json::array({hex_of_path(one.path), one.why}));
    journal_->note({{"kind", "end"}, {"time_s", std::time(nullptr)}, {"left", std::move(left)}});
    return progress_;
}

DrainProgress Drain::run() {
    begin();
    try {
        torn_ = keys_of(scratch_.path(), options_.torn);
        carry_or_leave(early_->first(scratch_, scratch_.scan()));
        for (const std::string& folder : folders_) scratch_.remove_folder(folder);
    } catch (const Error& error) {
        note_stop(error);
        throw;
    }
    return end();
}

const DrainProgress& Drain::deliver(std::vector<std::string> paths) {
    try {
        carry_or_leave(std::move(paths));
    } catch (const Error& error) {
        note_stop(error);
        throw;
    }
    return progress_;
}

void Drain::carry_or_leave(std::vector<std::string> paths) {
    const double until_s = seconds_now() + options_.wait_s;
    again_ = std::move(paths);
    progress_.entries += again_.size();
    progress_.left.clear();
    try_again_until(until_s);
    for (const std::string& path : again_)
        progress_.left.push_back({path, "a process has it open for writing, or changes it again and again"});
}

void Drain::note_stop(const Error& error) {
    if (is_stop_requested()) early_->keep();
    journal_->note({{"kind", "stopped"}, {"time_s", std::time(nullptr)}, {"why", error.what()}});
}

// Delivers the files in `again_`, several times, because they may be open for writing. What cannot be delivered stays in `again_`.
void Drain::try_again_until(double until_s) {
    for (int round = 0; !again_.empty(); ++round) {
        if (round >= kMostTimes && seconds_now() >= until_s) break;
        constexpr auto kPause = std::chrono::milliseconds(20);
        if (round > 0) std::this_thread::sleep_for(kPause);
        const std::vector<std::string> paths = std::exchange(again_, {});
        carry_all(paths);
    }
}

Given Drain::give(const std::vector<std::string>& paths) {
    if (!work_) work_.emplace(options_.target, journal_->temporary_name());
    if (!names_) names_ = names_lock_of(scratch_.state_path());
    constexpr size_t kFilesAtOnce = 32;  // the program waits while they get their names
    options_.shipment_files = std::min(options_.shipment_files, kFilesAtOnce);
    scratch_.forget_parent();
    progress_ = {};
    again_ = paths;
    try_again_until(0);
    return {.files = progress_.files, .bytes = progress_.bytes, .open = std::exchange(again_, {}), .left = progress_.left};
}

void Drain::carry_all(const std::vector<std::string>& paths) {
    for (size_t at = 0; at < paths.size(); at += options_.shipment_files)
        carry(std::span(paths).subspan(at, std::min(options_.shipment_files, paths.size() - at)));
}

// Delivers files. Tries several times, then each half of the list alone, so that one bad file does not prevent the others.
void Drain::carry(std::span<const std::string> paths) {
    for (int times = 1;; ++times) {
        try {
            ship(paths);
            return;
        } catch (const Error& error) {
            if (is_for_all(error.status()) || is_stop_requested()) throw;
            ++progress_.copied_again;
            if (times < kMostTimes) continue;
            if (paths.size() == 1) {
                progress_.left.push_back({paths.front(), error.what()});
                return;
            }
            break;
        }
    }
    carry(paths.first(paths.size() / 2));
    carry(paths.subspan(paths.size() / 2));
}

void Drain::take(const std::string& path, std::vector<Item>& items) {
    throw_if_stopped();
    reach(DrainState::found);
    Item item;
    const Taken taken = scratch_.take(path, item);
    if (taken == Taken::taken) {
        reach(DrainState::held);
        if (item.kind == ItemKind::folder) folders_.push_back(path);
        item.is_torn = item.kind == ItemKind::file && torn_.contains(key_of(item.identity));
        if (item.kind == ItemKind::file && item.identity.links > 1) {
            const Identity& is = item.identity;
            const auto first = std::find_if(items.begin(), items.end(), [&](const Item& other) {
                return other.kind == ItemKind::file && other.identity.links > 1 && other.identity.has_content_of(is);
            });
            if (first != items.end()) item.kind = ItemKind::hard_link, item.link = first->target_path();
        }
        items.push_back(std::move(item));
        if (options_.sink == "mirror" && items.back().kind == ItemKind::file && early_) early_->use(items.back());
        return;
    }
    scratch_.give_up(item);
    if (taken == Taken::open_for_writing) again_.push_back(path);
    if (taken == Taken::special)
        progress_.left.push_back({path, "it is no regular file, link or folder: a pipe, socket or device is not carried"});
}

// Copies the items to the sink. False: files changed meanwhile, and were removed from the shipment.
bool Drain::copy(std::vector<Item>& items, Sink& sink) {
    try {
        sink.add(items, [] { reach(DrainState::copied); });
    } catch (const Error& error) {
        // A file that a process has truncated is shorter than it should be.
        if (error.status() != Status::CORRUPT || drop_changed(items)) throw;
        return false;
    }
    return drop_changed(items);
}

bool Drain::drop_changed(std::vector<Item>& items) {
    const size_t before = items.size();
    std::set<std::string> dropped;
    for (Item& item : items) {
        if (scratch_.is_unchanged(item) && !(item.kind == ItemKind::hard_link && dropped.contains(item.link))) continue;
        dropped.insert(item.path);
        again_.push_back(item.path);
        ++progress_.copied_again;
        scratch_.give_up(item);
    }
    std::erase_if(items, [&](const Item& item) { return dropped.contains(item.path); });
    return items.size() == before;
}

void Drain::ship(std::span<const std::string> paths) {
    for (size_t at = 0; at < paths.size();) {
        std::vector<Item> items;
        scratch_.look_for_writers();
        try {
            for (uint64_t bytes = 0; at < paths.size() && bytes < options_.shipment_bytes; ++at) {
                const size_t before = items.size();
                take(paths[at], items);
                if (items.size() > before) bytes += items.back().identity.size_bytes;
            }
            while (!items.empty() && !publish(items)) {}
        } catch (...) {
            for (Item& item : items) scratch_.give_up(item);
            throw;
        }
        free_scratch(items);
        report_(progress_);
    }
}

// Copies the items and publishes them. False: files changed meanwhile and were removed from the shipment, which must be made again.
bool Drain::publish(std::vector<Item>& items) {
    const std::unique_ptr<Sink> sink = make_sink(options_.sink, place());
    try {
        if (!copy(items, *sink)) {
            sink->abandon();
            return false;
        }
        sink->sync();
        reach(DrainState::synced);
        sink->compare();
        reach(DrainState::compared);
        if (names_) journal_->append_begun(items);
        if (!publish_names(items, *sink)) {
            sink->abandon();
            return false;
        }
        sink->sync_names();
    } catch (...) {
        sink->abandon();
        throw;
    }
    reach(DrainState::published);
    record(items);
    reach(DrainState::recorded);
    return true;
}

// Gives the copies their names, if no file has changed. A program that runs sees each file on scratch or at the target, and makes,
// removes or renames none meanwhile. False: files changed, and were removed from the shipment.
bool Drain::publish_names(std::vector<Item>& items, Sink& sink) {
    std::optional<HeldNames> held;
    if (names_) held.emplace(names_);
    if (!drop_changed(items)) return false;
    sink.publish();
    if (held) set_aside(items, scratch_, *journal_);
    return true;
}

void Drain::record(const std::vector<Item>& items) {
    uint64_t count = 0, bytes = 0;
    for (const Item& item : items) {
        const Identity& is = item.identity;
        if (item.kind == ItemKind::folder) continue;
        ++count;
        if (item.is_torn) progress_.torn.insert(item.target_path());
        bytes += item.kind == ItemKind::file ? is.size_bytes : 0;
        if (item.early_use == EarlyUse::none) continue;
        ++progress_.early_files;
        progress_.early_bytes += is.size_bytes;
    }
    progress_.files += count;
    progress_.bytes += bytes;
    if (options_.sink == "bundle") ++progress_.bundles;
    journal_->append_published(items, count, bytes);
}

void Drain::free_scratch(std::vector<Item>& items) {
    if (items.empty()) return;
    set_aside(items, scratch_, *journal_);
    scratch_.look_for_writers();
    for (size_t at = 0; at < items.size(); ++at) {
        Item& item = items[at];
        const bool is_gone = item.is_set_aside && scratch_.remove(item, journal_->aside_name(at));
        if (item.kind != ItemKind::folder && !is_gone) again_.push_back(item.path);  // opened again: deliver it once more
        scratch_.give_up(item);
        reach(DrainState::freed);
    }
    journal_->append_freed();
}

}  // namespace tailrace
