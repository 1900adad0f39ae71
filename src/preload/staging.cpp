#include "preload/staging.hpp"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "preload/counts.hpp"
#include "preload/placing.hpp"
#include "preload/staged_elsewhere.hpp"
#include "trace/log.hpp"
#include "trace/raw.hpp"

namespace tailrace::preload::staging {
namespace {

namespace raw = trace::raw;

constexpr char kDrainFolder[] = ".tailrace-drain";

// A cache of folders whose path is their real path, by a hash of it.
constexpr uint32_t kRealFolders = 1024;
constinit std::atomic<uint64_t> real_folders[kRealFolders] = {};
constinit std::atomic<uint64_t> generation = 0;

// The free space of scratch is queried again after this time.
constexpr uint64_t kFreeCounts_ns = 1'000'000;
constinit std::atomic<uint64_t> asked_ns = 0;
constinit std::atomic<bool> has_room_now = false;

// The record of this node; set before any call is staged.
constinit std::atomic<const place::StageNode*> own_node = nullptr;

place::Stage stage() { return place::Stage(placing::rules()); }
place::Text own_scratch() { return own_node.load(std::memory_order_relaxed)->scratch; }

bool is_own_folder(const char* path, const place::StageNode& record) {
    struct stat folder;
    if (raw::call(SYS_newfstatat, AT_FDCWD, raw::address(path), raw::address(&folder), AT_SYMLINK_NOFOLLOW) != 0) return false;
    return S_ISDIR(folder.st_mode) && (folder.st_mode & 0777) == S_IRWXU && folder.st_dev == record.device &&
           folder.st_ino == record.inode && static_cast<int64_t>(folder.st_uid) == raw::call(SYS_geteuid);
}

const place::StageNode* this_node(const place::Stage& all) {
    utsname names;
    if (raw::call(SYS_uname, raw::address(&names)) != 0) return nullptr;
    return all.node(names.nodename, strnlen(names.nodename, sizeof names.nodename));
}

// Reports that this node has no scratch: makes the file RULES.without-scratch.NODE, so that the command says it once for each node.
void tell_of_no_scratch(const char* rules_path) {
    char name[4096 + 128];
    utsname names;
    if (raw::call(SYS_uname, raw::address(&names)) != 0) return;
    uint64_t bytes = raw::put_text(name, rules_path, 4096);
    bytes += raw::put_text(name + bytes, ".without-scratch.", sizeof name - bytes);
    raw::put_text(name + bytes, names.nodename, sizeof name - bytes);
    constexpr int kMode = 0600;
    const int64_t made =
        raw::call(SYS_openat, AT_FDCWD, raw::address(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kMode);
    if (made >= 0) raw::call(SYS_close, made);
}

bool has_room() {
    const uint64_t now_ns = trace::now_ns(), last_ns = asked_ns.load(std::memory_order_relaxed);
    if (last_ns != 0 && now_ns - last_ns < kFreeCounts_ns) return has_room_now.load(std::memory_order_relaxed);
    const place::Stage all = stage();
    struct statfs is;
    char path[kStagedRoom];
    const place::Text scratch = own_scratch();
    memcpy(path, all.text(scratch), scratch.bytes);
    path[scratch.bytes] = '\0';
    const bool is_known = raw::call(SYS_statfs, raw::address(path), raw::address(&is)) == 0;
    // File systems without a limit on the number of files report 0 files.
    const bool has = is_known && is.f_bavail * static_cast<uint64_t>(is.f_bsize) >= all.record().min_free_bytes &&
                     (is.f_files == 0 || is.f_ffree > 0);
    has_room_now.store(has, std::memory_order_relaxed);
    asked_ns.store(now_ns, std::memory_order_relaxed);
    return has;
}

// If the path begins with the base as the user has written it (base_as), replaces this by the real path of the base.
void put_base(const place::Stage& all, char* text, uint32_t& bytes) {
    const place::Text other = all.record().base_as, base = all.record().base;
    if (other.bytes == 0 || bytes < other.bytes || memcmp(text, all.text(other), other.bytes) != 0) return;
    if ((bytes > other.bytes && text[other.bytes] != '/') || bytes - other.bytes + base.bytes >= placing::kRoom) return;
    memmove(text + base.bytes, text + other.bytes, bytes - other.bytes);
    memcpy(text, all.text(base), base.bytes);
    bytes += base.bytes - other.bytes;
}

[[gnu::noinline]] uint32_t ask_for_real_folder(int directory, const char* path, uint32_t bytes, char* to, uint32_t at,
                                               uint64_t hash) {
    char real[placing::kRoom];
    const uint32_t found = placing::real_folder(directory, path, bytes, real);
    if (found == 0) return 0;
    if (hash != 0 && found == at && memcmp(real, to, at) == 0) {
        real_folders[hash % kRealFolders].store(hash, std::memory_order_relaxed);
        return at;
    }
    memcpy(to, real, found);
    return found;
}

// The real path of a folder, mostly without asking the kernel. `to` has kRoom bytes.
uint32_t known_folder(const place::Stage& all, int directory, const char* path, uint32_t bytes, char* to) {
    uint32_t at = placing::text_of_folder(directory, path, bytes, to);
    uint64_t hash = 0;
    if (at != 0) {
        put_base(all, to, at);
        hash = place::checksum(to, at) ^ generation.load(std::memory_order_relaxed);
        if (hash != 0 && real_folders[hash % kRealFolders].load(std::memory_order_relaxed) == hash) return at;
    }
    return ask_for_real_folder(directory, path, bytes, to, at, hash);
}

bool is_dots(const char* name, uint64_t bytes) { return name[0] == '.' && (bytes == 1 || (bytes == 2 && name[1] == '.')); }

}  // namespace

constinit std::atomic<bool> has_scratch = false;

Opening opening_of(const char* mode) {
    if (mode == nullptr) return {};
    const int exclusive = strchr(mode, 'x') != nullptr ? O_EXCL : 0;
    if (*mode == 'w') return {O_WRONLY | O_CREAT | O_TRUNC | exclusive};
    if (*mode == 'a') return {O_WRONLY | O_CREAT | O_APPEND | exclusive};
    return {strchr(mode, '+') != nullptr ? O_RDWR : O_RDONLY};
}

void begin(const place::Rules& rules, const char* path) {
    const place::Stage all(rules);
    if (!all.is_there() || all.record().node_count == 0) return;
    const place::StageNode* const own = this_node(all);
    char scratch[kStagedRoom] = "";
    if (own != nullptr && own->scratch.bytes < kStagedRoom - 256) memcpy(scratch, all.text(own->scratch), own->scratch.bytes);
    if (*scratch == '\0' || !is_own_folder(scratch, *own)) {
        tell_of_no_scratch(path);
        return;
    }
    own_node.store(own, std::memory_order_relaxed);
    counts::begin(scratch);
    begin_questions(path, scratch);
    has_scratch.store(true, std::memory_order_release);
}

ChangingNames::ChangingNames(bool is_wanted) {
    lock_ = is_wanted ? counts::names_lock() : nullptr;
    if (lock_ == nullptr) return;
    while (true) {
        lock_->changing.fetch_add(1);
        if (lock_->held_until_ns.load() <= trace::now_ns()) return;
        lock_->changing.fetch_sub(1);
        constexpr timespec kPause = {.tv_sec = 0, .tv_nsec = 50'000};
        raw::call(SYS_nanosleep, raw::address(&kPause));
    }
}

void ChangingNames::end() {
    if (lock_ != nullptr) lock_->changing.fetch_sub(1);
    lock_ = nullptr;
}

void forget_folders() { generation.fetch_add(1, std::memory_order_relaxed); }

void StagedPath::lead() {
    if (!raw::is_pointer(path_)) return;
    uint64_t bytes = strnlen(path_, 4096);
    if (bytes == 0 || bytes >= 4096) return;
    const uint64_t all_bytes = bytes;
    while (bytes > 1 && path_[bytes - 1] == '/') --bytes;
    names_folder_ = bytes < all_bytes;
    const auto* slash = static_cast<const char*>(memrchr(path_, '/', bytes));
    const auto begin = static_cast<uint32_t>(slash == nullptr ? 0 : slash - path_ + 1);
    const char* const name = path_ + begin;
    const uint64_t name_bytes = bytes - begin;
    if (name_bytes == 0 || name_bytes > place::kNameBytes || is_dots(name, name_bytes)) return;
    const place::Stage all = stage();
    char text[placing::kRoom];
    uint32_t at = known_folder(all, directory_, path_, begin == 1 ? 1 : begin == 0 ? 0 : begin - 1, text);
    if (at == 0 || at + 2 + name_bytes >= sizeof text) return;
    text[at++] = '/';
    memcpy(text + at, name, name_bytes);
    at += static_cast<uint32_t>(name_bytes);
    const uint32_t below = all.below(text, at);
    const place::Text scratch = own_scratch();
    if (below == 0 || scratch.bytes + 2 + at - below >= sizeof text_) return;
    // A drain's folders on scratch are not the program's, and those of a drain that it starts are not staged.
    text[at] = '\0';
    if (strncmp(text + below, kDrainFolder, sizeof kDrainFolder - 1) == 0) return;
    memcpy(text_, all.text(scratch), scratch.bytes);
    text_[scratch.bytes] = '/';
    memcpy(text_ + scratch.bytes + 1, text + below, at - below);
    below_ = scratch.bytes + 1;
    bytes_ = below_ + at - below;
    text_[bytes_] = '\0';
    kind_ = placing::kind_at(AT_FDCWD, text_);
    if (!names_folder_) return;
    text_[bytes_++] = '/';  // so that the kernel fails with ENOTDIR if the path is a file
    text_[bytes_] = '\0';
}

bool StagedPath::has_pattern() const {
    if (stage().pattern_of(text_ + below_, bytes_ - below_) < 0) return false;
    if (placing::rules().count() == 0) return true;
    return !placing::PlacedPath(directory_, path_).is_placed();
}

// Whether a file at the target may be hidden by a new one on scratch: a new file would have the same owner, links and attributes.
bool StagedPath::is_hideable(const struct stat& file) const {
    if (!S_ISREG(file.st_mode) || file.st_nlink != 1 || static_cast<int64_t>(file.st_uid) != raw::call(SYS_geteuid)) return false;
    if (raw::call(SYS_faccessat2, directory_, raw::address(path_), 2, AT_EACCESS) != 0) return false;
    char link[48] = "/proc/self/fd/";
    const int64_t file_of = raw::call(SYS_openat, directory_, raw::address(path_), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (file_of < 0) return false;
    raw::put_number(link + strlen(link), static_cast<uint64_t>(file_of));
    const int64_t attributes = raw::call(SYS_listxattr, raw::address(link), 0, 0);
    raw::call(SYS_close, file_of);
    return attributes <= 0;
}

Choice StagedPath::choose(const Opening& opening) {
    if (is_file()) return Choice::scratch;
    if (!is_inside() || is_folder() || names_folder_ || !(opening.creates() || opening.truncates())) return Choice::target;
    struct stat file;
    const int64_t found = raw::call(SYS_newfstatat, directory_, raw::address(path_), raw::address(&file), AT_SYMLINK_NOFOLLOW);
    if (found == 0 && S_ISLNK(file.st_mode)) return opening.follows() && !opening.is_exclusive() ? Choice::link : Choice::target;
    if (found == -ENOENT) return opening.creates() && has_pattern() ? choose_new() : Choice::target;
    if (found != 0 || !opening.truncates() || opening.is_exclusive() || !has_pattern() || !is_hideable(file) || stays_at_target())
        return Choice::target;
    if (choose_new() == Choice::target || !make_folders()) return Choice::target;
    const mode_t mode = file.st_mode & 07777;
    const int64_t made = raw::call(SYS_openat, AT_FDCWD, raw::address(text_), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (made == -EEXIST) return Choice::scratch;  // another process has just made it
    if (made < 0) return Choice::target;
    raw::call(SYS_fchmod, made, mode);  // the umask counts for new files only
    raw::call(SYS_close, made);
    has_made_ = true;
    return Choice::scratch;
}

Choice StagedPath::choose_new() {
    if (has_room()) {
        counts::add_on_scratch();
        return Choice::scratch;
    }
    counts::add_at_target(text_ + below_);
    return Choice::target;
}

void StagedPath::take_back(bool is_full) const {
    if (has_made_) raw::call(SYS_unlinkat, AT_FDCWD, raw::address(text_), 0);
    if (is_full) counts::add_at_target(text_ + below_);
}

bool StagedPath::make_folders() const {
    const place::Stage all = stage();
    const place::Text base = all.record().base;
    char target[placing::kRoom], folder[kStagedRoom];
    if (base.bytes + 1 + bytes_ - below_ >= sizeof target) return false;
    memcpy(folder, text_, bytes_ + 1);
    memcpy(target, all.text(base), base.bytes);
    target[base.bytes] = '/';
    memcpy(target + base.bytes + 1, text_ + below_, bytes_ - below_ + 1);
    char* const inner = target + base.bytes + 1;
    for (uint32_t end = below_; end < bytes_; ++end) {
        if (folder[end] != '/') continue;
        folder[end] = inner[end - below_] = '\0';
        struct stat is;
        if (raw::call(SYS_newfstatat, AT_FDCWD, raw::address(target), raw::address(&is), AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(is.st_mode))
            return false;
        const int64_t made = raw::call(SYS_mkdirat, AT_FDCWD, raw::address(folder), S_IRWXU);
        if (made != 0 && made != -EEXIST) return false;
        if (made == 0) {  // new files get the same attributes as in the target's folder
            raw::call(SYS_fchownat, AT_FDCWD, raw::address(folder), -1, static_cast<int64_t>(is.st_gid), 0);
            raw::call(SYS_fchmodat, AT_FDCWD, raw::address(folder), is.st_mode & 07777);
        }
        folder[end] = inner[end - below_] = '/';
    }
    return true;
}

bool read_link(int directory, const char* path, char* to) {
    if (!raw::is_pointer(path)) return false;
    char text[4096];
    const int64_t bytes = raw::call(SYS_readlinkat, directory, raw::address(path), raw::address(text), sizeof text);
    if (bytes <= 0 || bytes == sizeof text) return false;
    const auto* slash = text[0] == '/' ? nullptr : strrchr(path, '/');
    const uint64_t folder = slash == nullptr ? 0 : static_cast<uint64_t>(slash - path) + 1;
    if (folder + static_cast<uint64_t>(bytes) >= kStagedRoom) return false;
    memcpy(to, path, folder);
    memcpy(to + folder, text, static_cast<uint64_t>(bytes));
    to[folder + static_cast<uint64_t>(bytes)] = '\0';
    return true;
}

bool has_folder(int directory, const char* path) {
    char parent[4096];
    if (!raw::is_pointer(path) || *path == '\0') return false;
    uint64_t bytes = raw::put_text(parent, path, sizeof parent);
    while (bytes > 1 && parent[bytes - 1] == '/') parent[--bytes] = '\0';
    char* const slash = strrchr(parent, '/');
    if (slash == nullptr) return true;
    slash[slash == parent ? 1 : 0] = '\0';
    return placing::kind_at(directory, parent) == placing::kFolder;
}

bool exists_at(int directory, const char* path) { return placing::exists_at(directory, path); }

int64_t remove_at(int directory, const char* path, int flags) {
    return raw::call(SYS_unlinkat, directory, raw::address(path), flags);
}

bool scratch_of_folder(const char* folder, uint32_t bytes, char* to) {
    const place::Stage all = stage();
    const place::Text scratch = own_scratch(), base = all.record().base;
    if (bytes < base.bytes || memcmp(folder, all.text(base), base.bytes) != 0) return false;
    if ((bytes > base.bytes && folder[base.bytes] != '/') || scratch.bytes + bytes - base.bytes >= kStagedRoom) return false;
    memcpy(to, all.text(scratch), scratch.bytes);
    memcpy(to + scratch.bytes, folder + base.bytes, bytes - base.bytes);
    to[scratch.bytes + bytes - base.bytes] = '\0';
    return placing::kind_at(AT_FDCWD, to) == placing::kFolder;
}

bool is_of_drain(const char* folder, uint32_t bytes, const char* name) {
    constexpr char kCopies[] = ".tailrace-drain-", kExtracted[] = ".tailrace-extract-";
    const place::Stage all = stage();
    const place::Text base = all.record().base;
    const bool is_named_so =
        strncmp(name, kCopies, sizeof kCopies - 1) == 0 || strncmp(name, kExtracted, sizeof kExtracted - 1) == 0;
    return is_named_so && bytes == base.bytes && memcmp(folder, all.text(base), bytes) == 0;
}

bool find(const char* path, const Opening& opening, char* to) {
    char link[kStagedRoom];
    if (opening.creates()) take_out_of_bundle(AT_FDCWD, path);
    for (uint32_t links = 0; links < kMostLinks; ++links) {
        StagedPath staged(AT_FDCWD, path);
        const Choice choice = staged.choose(opening);
        if (choice == Choice::scratch && (staged.is_file() || staged.make_folders())) {
            memcpy(to, staged.scratch(), strlen(staged.scratch()) + 1);
            return true;
        }
        char next[kStagedRoom];
        if (choice != Choice::link && opening.creates()) return false;
        if (!read_link(AT_FDCWD, path, next)) {
            if (!exists_at(AT_FDCWD, path)) has_asked_for(AT_FDCWD, path);
            return false;
        }
        memcpy(link, next, sizeof link);
        path = link;
    }
    return false;
}

char* real_path(const char* path, char* to) {
    char on_scratch[kStagedRoom], text[place::kPathRoom];
    if (path == nullptr || !find(path, {}, on_scratch)) return nullptr;
    const uint64_t bytes =
        place::path_of_staged(placing::rules(), *own_node.load(std::memory_order_relaxed), on_scratch, strlen(on_scratch), text);
    if (bytes == 0 || bytes >= PATH_MAX) return nullptr;
    auto* const result = to != nullptr ? to : static_cast<char*>(malloc(PATH_MAX));
    if (result == nullptr) return nullptr;
    memcpy(result, text, bytes);
    result[bytes] = '\0';
    return result;
}

uint64_t target_of(const char* path, uint64_t bytes, char* to, uint64_t room) {
    char text[place::kPathRoom];
    if (!is_on()) return 0;
    const uint64_t all = place::path_of_staged(placing::rules(), *own_node.load(std::memory_order_relaxed), path, bytes, text);
    const uint64_t fits = all < room ? all : room;
    memcpy(to, text, fits);
    return fits;
}

}  // namespace tailrace::preload::staging
