#include "stage/early_copies.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/journal.hpp"
#include "base/paths.hpp"
#include "stage/journal_path.hpp"
#include "stage/sink.hpp"
#include "stage/states.hpp"

namespace tailrace {
namespace {

constexpr size_t kSumBytes = 1u << 20;

Json numbers_of(const Identity& is) { return Json::array({is.device, is.inode, is.size_bytes, is.mtime_ns, is.ctime_ns}); }

Identity identity_of(const Json& numbers) {
    Identity identity;
    identity.device = numbers.at(0);
    identity.inode = numbers.at(1);
    identity.size_bytes = numbers.at(2);
    identity.mtime_ns = numbers.at(3);
    identity.ctime_ns = numbers.at(4);
    return identity;
}

void read_copied(const Json& line, EarlyJournal& journal) {
    EarlyCopy copy;
    copy.name = line.at("name");
    copy.path = path_of_hex(line.at("path"));
    copy.made_of = identity_of(line.at("of"));
    copy.copy = identity_of(line.at("copy"));
    copy.sum = line.at("xxh3");
    copy.shows_changes = line.at("shows_changes");
    const FileKey key = key_of(copy.made_of);
    journal.copies.insert_or_assign(key, std::move(copy));
}

}  // namespace

std::string early_journal_path(const std::string& state_path) { return state_path + "/early.jsonl"; }

Json line_of(const EarlyCopy& copy) {
    return {{"kind", "copied"},
            {"name", copy.name},
            {"path", hex_of_path(copy.path)},
            {"of", numbers_of(copy.made_of)},
            {"copy", numbers_of(copy.copy)},
            {"xxh3", copy.sum},
            {"shows_changes", copy.shows_changes}};
}

EarlyJournal read_early_journal(const std::string& state_path) {
    EarlyJournal journal;
    for (const Json& line : read_journal(early_journal_path(state_path)).lines) {
        const std::string kind = line.value("kind", "");
        if (kind == "folder") {
            journal = EarlyJournal{.folder = line.at("token"), .copies = {}, .dropped_paths = {}, .stopped_because = {}};
        } else if (kind == "copied") {
            read_copied(line, journal);
        } else if (kind == "dropped") {
            const auto found = journal.copies.find({line.at("device").get<uint64_t>(), line.at("inode").get<uint64_t>()});
            if (found == journal.copies.end()) continue;
            journal.dropped_paths.push_back(found->second.path);
            journal.copies.erase(found);
        } else if (kind == "stopped") {
            journal.stopped_because = line.at("why");
        }
    }
    return journal;
}

EarlyCopies::EarlyCopies(const std::string& state_path, const std::string& target, const std::string& outer)
    : journal_path_(early_journal_path(state_path)) {
    EarlyJournal journal = read_early_journal(state_path);
    stopped_because_ = std::move(journal.stopped_because);
    if (!journal.folder.empty()) folder_ = WorkFolder::take_over(target, outer, journal.folder);
    if (folder_) copies_ = std::move(journal.copies);
}

EarlyCopies::~EarlyCopies() {
    folder_.reset();
    if (!is_kept_) ::unlink(journal_path_.c_str());
}

void EarlyCopies::keep() {
    is_kept_ = true;
    if (folder_) folder_->keep();
}

std::string EarlyCopies::folder() const { return folder_ ? folder_->token() : ""; }

void EarlyCopies::remove(const FileKey& key) {
    const auto found = copies_.find(key);
    ::unlinkat(folder_->descriptor(), found->second.name.c_str(), 0);
    copies_.erase(found);
}

std::vector<std::string> EarlyCopies::first(Scratch& scratch, std::vector<std::string> paths) {
    if (copies_.empty()) return paths;
    std::vector<Identity> files;
    std::set<std::string> with_copy;
    for (const std::string& path : paths) {
        struct stat status;
        if (!scratch.look_at(path, status) || !S_ISREG(status.st_mode)) continue;
        files.push_back(Identity::of(status));
        if (copies_.contains(key_of(files.back()))) with_copy.insert(path);
    }
    keep_only(files);
    std::ranges::stable_partition(paths, [&](const std::string& path) { return with_copy.contains(path); });
    return paths;
}

void EarlyCopies::keep_only(const std::vector<Identity>& files) {
    std::set<FileKey> present;
    for (const Identity& file : files) {
        const auto found = copies_.find(key_of(file));
        if (found != copies_.end() && found->second.made_of.size_bytes == file.size_bytes) present.insert(key_of(file));
    }
    std::vector<FileKey> gone;
    for (const auto& [key, copy] : copies_)
        if (!present.contains(key)) gone.push_back(key);
    for (const FileKey& key : gone) remove(key);
}

// Whether the copy is unchanged since it was compared with the file.
bool EarlyCopies::is_intact(const EarlyCopy& copy) const {
    struct stat status;
    if (::fstatat(folder_->descriptor(), copy.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    const Identity now = Identity::of(status);
    return S_ISREG(status.st_mode) && now.links == 1 && now.has_content_of(copy.copy);
}

void EarlyCopies::use(Item& item) {
    item.early_use = EarlyUse::none;
    const auto found = copies_.find(key_of(item.identity));
    if (found == copies_.end()) return;
    const EarlyCopy& copy = found->second;
    const bool is_same = copy.shows_changes && item.identity == copy.made_of;
    bool is_right = is_intact(copy) && item.identity.size_bytes == copy.made_of.size_bytes;
    if (is_right && !is_same) {
        std::vector<char> buffer(kSumBytes);
        is_right = read_item(item, buffer, [](std::span<const char>) {}) == copy.sum;
    }
    if (!is_right) {
        remove(found->first);
        return;
    }
    item.sum = copy.sum;
    item.early_path = folder_->path() + "/" + copy.name;
    item.early_use = is_same ? EarlyUse::as_it_is : EarlyUse::with_attributes;
    reach(DrainState::early_used);
}

}  // namespace tailrace
