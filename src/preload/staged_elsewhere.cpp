#include "preload/staged_elsewhere.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "preload/ask.hpp"
#include "preload/bundled.hpp"
#include "preload/counts.hpp"
#include "preload/placing.hpp"
#include "preload/staging.hpp"
#include "trace/memory.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload::staging {
namespace {

namespace raw = trace::raw;

place::Stage stage() { return place::Stage(placing::rules()); }

// The folder that has a file for each name that another node has asked for: RULES.given/HASH, on the file system of all nodes.
constexpr char kGiven[] = ".given/";
constinit char given_folder[4096] = "";

class KeptErrno {
public:
    KeptErrno() : code_(errno) {}
    KeptErrno(const KeptErrno&) = delete;
    ~KeptErrno() { errno = code_; }

private:
    const int code_;
};

// Asks `kind` of a path below the base, which ends with a zero byte. `names`: see ask::ask.
void ask_or_count(ask::Kind kind, const char* below, uint64_t bytes, int64_t* names = nullptr) {
    if (ask::ask(kind, below, bytes, counts::agent_is_silent(), names) != ask::Answer::done) counts::add_unanswered(below);
}

}  // namespace

void begin_questions(const char* rules_path, const char* scratch) {
    const uint64_t bytes = raw::put_text(given_folder, rules_path, sizeof given_folder - sizeof kGiven);
    raw::put_text(given_folder + bytes, kGiven, sizeof kGiven);
    bundled::begin(rules_path);
    ask::begin(scratch);
}

// ---- files --------------------------------------------------------------------------------------------------------------------

// Whether another node has asked for this name. Its file is at the target from then on, for all nodes.
bool StagedPath::is_given() const {
    if (!ask::is_on()) return false;
    char marker[sizeof given_folder + 17];
    uint64_t at = raw::put_text(marker, given_folder, sizeof given_folder);
    const uint64_t hash = place::checksum(text_ + below_, bytes_ - below_);
    for (int shift = 60; shift >= 0; shift -= 4) marker[at++] = "0123456789abcdef"[hash >> shift & 15];
    marker[at] = '\0';
    return exists_at(AT_FDCWD, marker);
}

bool StagedPath::stays_at_target() const { return bundled::is_on() || is_given(); }

bool StagedPath::ask_for_file() const {
    if (!is_inside() || kind_ != 0 || names_folder_) return false;
    if (!bundled::asks_other_nodes() && !bundled::has(text_ + below_, bytes_ - below_)) return false;
    if (placing::rules().count() != 0 && placing::PlacedPath(directory_, path_).is_placed()) return false;
    const ask::Answer answer = ask::ask(ask::Kind::others, text_ + below_, bytes_ - below_, counts::agent_is_silent());
    read_folder_again();
    if (answer != ask::Answer::done && !exists_at(directory_, path_)) counts::add_unanswered(text_ + below_);
    return true;
}

// NFS remembers that a name was absent until the folder is opened again, which asks the server whether the folder has changed.
void StagedPath::read_folder_again() const {
    char target[kStagedRoom];
    const place::Stage all = stage();
    const place::Text base = all.record().base;
    if (base.bytes + 1 + bytes_ - below_ >= sizeof target) return;
    memcpy(target, all.text(base), base.bytes);
    target[base.bytes] = '/';
    memcpy(target + base.bytes + 1, text_ + below_, bytes_ - below_ + 1);
    *strrchr(target, '/') = '\0';
    const int64_t folder = raw::call(SYS_openat, AT_FDCWD, raw::address(target), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) raw::call(SYS_close, folder);
}

void StagedPath::take_out_of_bundle() const {
    if (is_inside() && bundled::has(text_ + below_, bytes_ - below_) && !exists_at(directory_, path_)) ask_for_file();
}

void StagedPath::leave_bundle() const {
    if (!is_inside() || !bundled::has(text_ + below_, bytes_ - below_)) return;
    if (is_file() || exists_at(directory_, path_)) ask_or_count(ask::Kind::removed, text_ + below_, bytes_ - below_);
}

void StagedPath::take_folder_out() const {
    const uint32_t bytes = bytes_ - below_ - (names_folder_ ? 1 : 0);
    if (is_inside() && bundled::has(text_ + below_, bytes)) ask_or_count(ask::Kind::below, text_ + below_, bytes);
}

void StagedPath::deliver_over_target() const {
    if (ask::is_on() && exists_at(directory_, path_) && stays_at_target())
        ask_or_count(ask::Kind::own, text_ + below_, bytes_ - below_);
}

bool has_asked_for(int directory, const char* path) {
    if (!ask::is_on()) return false;
    const KeptErrno code;
    return StagedPath(directory, path).ask_for_file();
}

void take_out_of_bundle(int directory, const char* path) {
    if (!bundled::has_names()) return;
    const KeptErrno code;
    StagedPath(directory, path).take_out_of_bundle();
}

void leave_bundle(int directory, const char* path) {
    if (!bundled::has_names()) return;
    const KeptErrno code;
    StagedPath(directory, path).leave_bundle();
}

void take_folder_out(int directory, const char* path) {
    if (!bundled::has_names()) return;
    const KeptErrno code;
    if (placing::kind_at(directory, path) == placing::kFolder) StagedPath(directory, path).take_folder_out();
}

// ---- folders ------------------------------------------------------------------------------------------------------------------

bool StagedPath::is_within(const StagedPath& folder) const {
    const uint32_t bytes = folder.bytes_ - (folder.names_folder_ ? 1 : 0);
    return strncmp(text_, folder.text_, bytes) == 0 && (text_[bytes] == '/' || text_[bytes] == '\0');
}

bool StagedPath::move_elsewhere(const StagedPath& to, bool is_back) const {
    char words[ask::kTextRoom];
    uint64_t bytes = bytes_ - below_ - (names_folder_ ? 1 : 0);
    memcpy(words, text_ + below_, bytes);
    bytes += raw::put_text(words + bytes, ask::kTo, sizeof words - bytes);
    const uint64_t to_bytes = to.bytes_ - to.below_ - (to.names_folder_ ? 1 : 0);
    memcpy(words + bytes, to.text_ + to.below_, to_bytes);
    const ask::Kind kind = is_back ? ask::Kind::back : ask::Kind::move;
    const bool is_done = ask::ask(kind, words, bytes + to_bytes, counts::agent_is_silent()) == ask::Answer::done;
    if (!is_done && !is_back) counts::add_unanswered(text_ + below_);
    return is_done;
}

bool renames_folder(int directory, const char* path) {
    if (!ask::is_on() || !bundled::asks_other_nodes()) return false;
    const KeptErrno code;
    return !StagedPath(directory, path).is_file() && placing::kind_at(directory, path) == placing::kFolder;
}

FolderElsewhere::FolderElsewhere(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) {
    const KeptErrno code;
    const StagedPath old_path(from_directory, from), new_path(to_directory, to);
    const bool leaves = old_path.is_inside();
    if (!leaves && !new_path.is_inside()) return;
    const unsigned kind_to = placing::kind_at(to_directory, to);
    if ((flags & RENAME_EXCHANGE) != 0) {
        refusal_ = EINVAL;
        return;
    }
    // The call fails by itself.
    if (kind_to != 0 && (kind_to != placing::kFolder || (flags & RENAME_NOREPLACE) != 0)) return;
    if (!has_folder(to_directory, to)) return;
    if (leaves && new_path.is_inside() && new_path.is_within(old_path)) return;
    if (kind_to != 0 && has_names_elsewhere(to_directory, to)) {
        refusal_ = ENOTEMPTY;
    } else if (leaves && !new_path.is_inside()) {
        refusal_ = EXDEV;
    } else if (leaves) {
        is_moved_ = true;
        if (old_path.move_elsewhere(new_path, false)) return;
        old_path.move_elsewhere(new_path, true);
        is_moved_ = false;
        refusal_ = EBUSY;
    }
}

void FolderElsewhere::undo(int from_directory, const char* from, int to_directory, const char* to) const {
    if (!is_moved_) return;
    const KeptErrno code;
    StagedPath(from_directory, from).move_elsewhere(StagedPath(to_directory, to), true);
}

// ---- names --------------------------------------------------------------------------------------------------------------------

bool has_names_elsewhere(int directory, const char* path) {
    if (!ask::is_on()) return false;
    const KeptErrno code;
    if (placing::kind_at(directory, path) != placing::kFolder) return false;
    char folder[placing::kRoom];
    const uint32_t bytes = placing::real_folder(directory, path, static_cast<uint32_t>(strnlen(path, 4096)), folder);
    bool has_any = false;
    if (bytes != 0) NamesElsewhere(folder, bytes).each([&](const char*, unsigned char) { has_any = true; });
    return has_any;
}

NamesElsewhere::NamesElsewhere(const char* folder, uint32_t bytes) {
    if (!is_on() || !ask::is_on()) return;
    const place::Stage all = stage();
    const place::Text base = all.record().base;
    const bool is_base = bytes == base.bytes && memcmp(folder, all.text(base), bytes) == 0;
    const uint32_t begin = is_base ? bytes : all.below(folder, bytes);
    char below[kStagedRoom];
    if (begin == 0 || bytes - begin >= sizeof below) return;
    memcpy(below, folder + begin, bytes - begin);
    below[bytes - begin] = '\0';
    const bool is_bundled = is_base ? bundled::has_names() : bundled::has(below, bytes - begin);
    if (!bundled::asks_other_nodes() && !is_bundled) return;
    is_asked_ = true;
    int64_t names = -1;
    ask_or_count(ask::Kind::names, below, bytes - begin, &names);
    if (names < 0) return;
    read(names);
    raw::call(SYS_close, names);
    if (text_ != nullptr && is_sound()) {
        fill_slots();
        return;
    }
    bytes_ = 0;
    counts::add_unanswered(below);
}

NamesElsewhere::~NamesElsewhere() {
    if (text_ != nullptr) raw::call(SYS_munmap, raw::address(text_), static_cast<int64_t>(room_));
}

// Reads the names into memory of its own: a mapping of the file could become shorter.
void NamesElsewhere::read(int64_t file) {
    struct stat is;
    constexpr int64_t kMostBytes = 1 << 30;
    if (raw::call(SYS_fstat, file, raw::address(&is)) != 0 || is.st_size <= 0 || is.st_size > kMostBytes) return;
    const auto bytes = static_cast<uint64_t>(is.st_size);
    slot_count_ = 2;
    while (slot_count_ < bytes) slot_count_ *= 2;  // a name has two bytes at least besides its letter, so half of them are empty
    const uint64_t text_room = (bytes + 7) / 8 * 8;
    room_ = text_room + slot_count_ * sizeof *slots_;
    text_ = static_cast<char*>(trace::map_memory(room_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (text_ == nullptr) return;
    slots_ = reinterpret_cast<uint32_t*>(text_ + text_room);
    while (bytes_ < bytes) {
        const int64_t got = raw::call(SYS_pread64, file, raw::address(text_ + bytes_), static_cast<int64_t>(bytes - bytes_),
                                      static_cast<int64_t>(bytes_));
        if (got <= 0) return;
        bytes_ += static_cast<uint64_t>(got);
    }
}

bool NamesElsewhere::is_sound() const {
    if (bytes_ == 0 || text_[bytes_ - 1] != '\0') return false;
    for (uint64_t at = 0; at < bytes_;) {
        const uint64_t length = strlen(text_ + at);
        const bool is_name = length > 1 && length <= 1 + place::kNameBytes && strchr(text_ + at, '/') == nullptr;
        if (!is_name || (text_[at] != kFile && text_[at] != kLink)) return false;
        at += length + 1;
    }
    return true;
}

void NamesElsewhere::fill_slots() {
    for (uint64_t at = 0; at < bytes_;) {
        const char* const name = text_ + at + 1;
        const uint64_t length = strlen(name);
        uint64_t slot = place::checksum(name, length) & (slot_count_ - 1);
        while (slots_[slot] != 0) slot = (slot + 1) & (slot_count_ - 1);
        slots_[slot] = static_cast<uint32_t>(at) + 1;
        at += length + 2;
    }
}

void NamesElsewhere::leave_out(const char* name) {
    if (bytes_ == 0) return;
    for (uint64_t slot = place::checksum(name, strlen(name)) & (slot_count_ - 1); slots_[slot] != 0;
         slot = (slot + 1) & (slot_count_ - 1)) {
        char* const found = text_ + slots_[slot] - 1;
        if (strcmp(found + 1, name) == 0) *found = kLeftOut;
    }
}

}  // namespace tailrace::preload::staging
