#include "stage/scratch.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <memory>
#include <thread>

#include "base/paths.hpp"
#include "base/shell_word.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

using Folder = std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })>;

using Entry = std::pair<std::string, bool>;  // a name, and whether it is a folder's

// The entries of an open folder, sorted.
std::vector<Entry> entries_of(int opened, const std::string& path) {
    const Folder folder(::fdopendir(::dup(opened)));
    if (!folder) fail_system("list", path, errno);
    std::vector<Entry> entries;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string_view is = entry->d_name;
        if (is == "." || is == "..") continue;
        bool is_folder = entry->d_type == DT_DIR;
        struct stat status;
        if (entry->d_type == DT_UNKNOWN && ::fstatat(opened, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            is_folder = S_ISDIR(status.st_mode);
        entries.emplace_back(is, is_folder);
    }
    std::sort(entries.begin(), entries.end());
    return entries;
}

void scan_folder(int parent, const std::string& name, const std::string& prefix, std::vector<std::string>& found) {
    const Descriptor opened(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened.is_open() && errno == ENOENT) return;
    if (!opened.is_open()) fail_system("list", prefix + name, errno);
    for (const auto& [entry, is_folder] : entries_of(opened.get(), prefix + name)) {
        if (prefix.empty() && entry == kStateFolder) continue;
        if (is_folder) scan_folder(opened.get(), entry, prefix + entry + "/", found);
        found.push_back(prefix + entry);
    }
}

}  // namespace

Scratch::Scratch(const std::string& path, Leases* leases) : leases_(leases), folder_(open_folder(path)) {
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved) == nullptr) fail_system("open folder", path, errno);
    path_ = resolved;
    struct stat status;
    if (::fstat(folder_.get(), &status) != 0) fail_system("look at", path_, errno);
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        fail(Status::BAD_ARGUMENT, path_, " belongs to another user, or others may write to it: what is in it cannot be trusted; ",
             "use a folder of your own (chmod go-w ", shell_word(path_), ")");
    if (::mkdirat(folder_.get(), kStateFolder, S_IRWXU) != 0 && errno != EEXIST) fail_system("make directory", state_path(), errno);
    const Descriptor state = open_beneath(folder_.get(), kStateFolder, O_RDONLY | O_DIRECTORY);
    if (!state.is_open()) fail_system("open folder", state_path(), errno);
    if (::fstat(state.get(), &status) != 0) fail_system("look at", state_path(), errno);
    if (status.st_uid != ::geteuid() || (status.st_mode & 077) != 0)
        fail(Status::BAD_ARGUMENT, state_path(), " is not closed to others: remove it if no drain runs, or chmod go-rwx it");
    if (::mkdirat(state.get(), "removing", S_IRWXU) != 0 && errno != EEXIST) fail_system("make directory", state_path(), errno);
    removing_ = open_beneath(state.get(), "removing", O_RDONLY | O_DIRECTORY);
    if (!removing_.is_open()) fail_system("open folder", state_path() + "/removing", errno);
}

std::vector<std::string> scan_below(int folder) {
    std::vector<std::string> found;
    scan_folder(folder, ".", "", found);
    return found;
}

std::vector<std::string> Scratch::scan() {
    forget_parent();
    return scan_below(folder_.get());
}

std::vector<std::string> Scratch::closed_files_in(const std::string& folder) {
    forget_parent();
    std::vector<std::string> names;
    const Descriptor opened = open_beneath(folder_.get(), folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
    if (!opened.is_open()) return names;
    look_for_writers();
    for (const auto& [name, is_folder] : entries_of(opened.get(), path_ + "/" + folder)) {
        if (is_folder) continue;
        Item item;
        try {
            const Taken taken = take(folder.empty() ? name : folder + "/" + name, item);
            if (taken == Taken::taken && item.kind == ItemKind::file) names.push_back(name);
        } catch (const Error&) {  // a file that this user may not read is not delivered, either
        }
        give_up(item);
    }
    return names;
}

bool Scratch::look_at(const std::string& path, struct stat& status) {
    std::string name;
    const int parent = parent_of(path, name);
    return ::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

OwnDescriptor Scratch::lock() const {
    const std::string path = state_path() + "/lock";
    constexpr int kMostTimes = 10;
    constexpr auto kPause = std::chrono::milliseconds(20);
    for (int times = 0; times < kMostTimes; ++times, std::this_thread::sleep_for(kPause)) {
        OwnDescriptor lock("open", path, O_RDWR | O_CREAT | O_NOFOLLOW);
        if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && lock.is_at(path)) return lock;
    }
    fail(Status::IN_USE, path_, " is being drained by another process of this node: `tailrace drain wait ", shell_word(path_),
         "` waits for it");
}

void Scratch::look_for_writers() {
    if (leases_ == nullptr) return;
    // A lease on a file of our own shows whether this file system's leases suffice.
    Descriptor probe(::openat(removing_.get(), "probe", O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR));
    const LeaseAnswer answer = probe.is_open() ? leases_->take(probe.get()) : LeaseAnswer::not_supported;
    if (probe.is_open()) leases_->give_up(probe.get());
    ::unlinkat(removing_.get(), "probe", 0);
    if (answer == LeaseAnswer::not_supported) writers_ = OpenFiles::for_writing(path_);
}

int Scratch::parent_of(const std::string& path, std::string& name) {
    const size_t slash = path.rfind('/');
    name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (slash == std::string::npos) return folder_.get();
    const std::string parent = path.substr(0, slash);
    if (parent != parent_path_ || !parent_.is_open()) {
        parent_ = open_beneath(folder_.get(), parent, O_RDONLY | O_DIRECTORY);
        parent_path_ = parent;
    }
    return parent_.get();
}

Taken Scratch::take(const std::string& path, Item& item) {
    std::string name;
    const int parent = parent_of(path, name);
    struct stat status;
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT || errno == EBADF || errno == ENOTDIR) return Taken::gone;
        fail_system("look at", path_ + "/" + path, errno);
    }
    item = Item{};
    item.path = path;
    item.identity = Identity::of(status);
    if (S_ISDIR(status.st_mode)) {
        item.kind = ItemKind::folder;
        return Taken::taken;
    }
    if (S_ISLNK(status.st_mode)) {
        item.kind = ItemKind::symbolic_link;
        item.link.resize(PATH_MAX);
        const ssize_t bytes = ::readlinkat(parent, name.c_str(), item.link.data(), item.link.size());
        if (bytes < 0) return Taken::gone;
        item.link.resize(static_cast<size_t>(bytes));
        return Taken::taken;
    }
    if (!S_ISREG(status.st_mode)) return Taken::special;
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    item.file = Descriptor(::openat(parent, name.c_str(), kFlags | O_NOATIME));
    if (!item.file.is_open() && errno == EPERM) item.file = Descriptor(::openat(parent, name.c_str(), kFlags));  // another owner's
    if (!item.file.is_open() && errno == ENOENT) return Taken::gone;
    if (!item.file.is_open()) fail_system("open", path_ + "/" + path, errno);
    const LeaseAnswer answer = leases_ != nullptr ? leases_->take(item.file.get()) : LeaseAnswer::not_supported;
    if (answer == LeaseAnswer::busy) return Taken::open_for_writing;
    if (::fstat(item.file.get(), &status) != 0) fail_system("look at", path_ + "/" + path, errno);
    item.identity = Identity::of(status);  // as it is under the lease
    if (answer == LeaseAnswer::not_supported && writers_.has(item.identity.device, item.identity.inode, path_ + "/" + path))
        return Taken::open_for_writing;
    return Taken::taken;
}

bool Scratch::has_no_writer(const Item& item) {
    if (!item.file.is_open() || leases_ == nullptr) return true;
    if (leases_->is_held(item.file.get())) return true;
    // Either the lease was broken, or the file system has no leases.
    return leases_->take(item.file.get()) == LeaseAnswer::not_supported &&
           !writers_.has(item.identity.device, item.identity.inode, path_ + "/" + item.path);
}

bool Scratch::has_no_writer_now(const Item& item) {
    if (leases_ == nullptr) return true;
    leases_->give_up(item.file.get());
    const LeaseAnswer answer = leases_->take(item.file.get());
    leases_->give_up(item.file.get());
    if (answer != LeaseAnswer::not_supported) return answer == LeaseAnswer::granted;
    return !writers_.has(item.identity.device, item.identity.inode, path_ + "/" + item.path);
}

bool Scratch::is_unchanged(const Item& item) {
    std::string name;
    const int parent = parent_of(item.path, name);
    struct stat status;
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    const Identity now = Identity::of(status);
    if (item.kind == ItemKind::folder) return S_ISDIR(status.st_mode);
    if (item.identity.links > 1 ? !now.has_content_of(item.identity) : !(now == item.identity)) return false;
    return has_no_writer(item);
}

void Scratch::give_up(Item& item) {
    if (item.file.is_open() && leases_ != nullptr) leases_->give_up(item.file.get());
    item.file.close();
}

void Scratch::set_aside(const Item& item, const std::string& name) {
    std::string last;
    const int parent = parent_of(item.path, last);
    if (::renameat(parent, last.c_str(), removing_.get(), name.c_str()) != 0 && errno != ENOENT)
        fail_system("set aside", path_ + "/" + item.path, errno);
}

void Scratch::give_name_back(const std::string& path, const std::string& name) {
    std::string last;
    const Descriptor parent = open_parent(folder_.get(), path, true, last);
    // If the program has made a new file of this name meanwhile, the older file stays in removing/, and an error is reported.
    if (!parent.is_open() || ::renameat2(removing_.get(), name.c_str(), parent.get(), last.c_str(), RENAME_NOREPLACE) != 0)
        fail(Status::IO_FAILED, path_, "/", path,
             " was opened for writing while it was removed, and cannot have its name back: see ", state_path(), "/removing/", name);
}

bool Scratch::remove(const Item& item, const std::string& name) {
    if (!has_no_writer(item)) {
        give_name_back(item.path, name);
        return false;
    }
    if (::unlinkat(removing_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
        fail_system("remove", state_path() + "/removing/" + name, errno);
    return true;
}

void Scratch::remove_recorded(const Item& recorded, const std::string& name) {
    const std::string aside = std::string(kStateFolder) + "/removing/" + name;
    Item item;
    for (const std::string& path : {aside, recorded.path}) {
        const Taken taken = take(path, item);
        const bool is_recorded = item.identity.has_content_of(recorded.identity);
        if (taken == Taken::taken && item.kind == ItemKind::folder) continue;
        if (taken == Taken::taken && is_recorded) {
            std::string last;
            const int parent = parent_of(path, last);
            if (::unlinkat(parent, last.c_str(), 0) != 0 && errno != ENOENT) fail_system("remove", path_ + "/" + path, errno);
        } else if (taken != Taken::gone && path == aside) {
            give_name_back(recorded.path, name);
        }
        give_up(item);
        item = Item{};
    }
}

void Scratch::end_set_aside(const std::string& path, const std::string& name, bool is_at_target) {
    if (::faccessat(removing_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (!is_at_target) return give_name_back(path, name);
    if (::unlinkat(removing_.get(), name.c_str(), 0) != 0) fail_system("remove", state_path() + "/removing/" + name, errno);
}

void Scratch::remove_folder(const std::string& path) {
    std::string name;
    const int parent = parent_of(path, name);
    ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

}  // namespace tailrace
