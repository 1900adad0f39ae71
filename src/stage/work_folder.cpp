#include "stage/work_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <vector>

#include "base/hex.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

constexpr char kLock[] = "lock";

// The entries of an open folder. Empty if it cannot be read; then its contents are not removed.
std::vector<std::string> entries_of(int folder) {
    std::vector<std::string> found;
    const std::unique_ptr<DIR, decltype([](DIR* opened) { ::closedir(opened); })> opened(
        ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    while (const dirent* entry = opened ? ::readdir(opened.get()) : nullptr) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") found.push_back(name);
    }
    return found;
}

// Removes a folder whose owner has ended. An owner makes first its folder, then its lock. So a folder without a lock has an owner
// that was killed in between, or that will find its folder removed and make another one.
void remove_if_abandoned(int outer, const std::string& token) {
    const Descriptor folder = open_beneath(outer, token, O_RDONLY | O_DIRECTORY);
    if (!folder.is_open()) return;
    const Lock lock = take_lock(folder.get(), kLock);
    if (lock.state == LockState::free)
        for (const std::string& name : entries_of(folder.get()))
            if (name != kLock) ::unlinkat(folder.get(), name.c_str(), 0);
    if (lock.state == LockState::free) ::unlinkat(folder.get(), kLock, 0);
    if (lock.state == LockState::free || lock.state == LockState::absent) ::unlinkat(outer, token.c_str(), AT_REMOVEDIR);
}

}  // namespace

std::string node_name() {
    char name[HOST_NAME_MAX + 1] = {};
    return ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "node";
}

std::string random_token() {
    std::vector<std::byte> bytes(4);
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        fail_system("draw", "a random name", errno);
    return hex_bytes(bytes);
}

Lock take_lock(int folder, const char* name, bool any_node) {
    Lock lock;
    lock.file = open_beneath(folder, name, O_RDWR | O_NONBLOCK);
    if (!lock.file.is_open()) {
        lock.state = errno == ENOENT ? LockState::absent : LockState::unknown;
        return lock;
    }
    struct stat status;
    if (::fstat(lock.file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        lock.state = LockState::unknown;
        return lock;
    }
    lock.made_s = status.st_mtim.tv_sec;
    char text_of[HOST_NAME_MAX + 32];
    const size_t bytes = read_up_to(lock.file.get(), 0, text_of, sizeof text_of, name);
    lock.node.assign(text_of, bytes);
    lock.node.resize(std::min(lock.node.find(' '), lock.node.size()));
    if (!any_node && !lock.node.empty() && lock.node != node_name())
        lock.state = LockState::elsewhere;
    else if (::flock(lock.file.get(), LOCK_EX | LOCK_NB) == 0)
        lock.state = LockState::free;
    else
        lock.state = errno == EWOULDBLOCK ? LockState::held : LockState::unknown;
    return lock;
}

WorkFolder::WorkFolder(const std::string& parent, const std::string& name)
    : outer_path_(parent + "/" + name), parent_(open_folder(parent)), name_(name) {
    constexpr int kMostTimes = 20;
    for (int times = 0; !claim(); ++times)
        if (times == kMostTimes) fail_system("make folder", outer_path_, errno);
    const std::string said = node_name() + " " + std::to_string(::getpid()) + "\n";
    write_fully(lock_.get(), 0, said.data(), said.size(), path_ + "/" + kLock);
}

// Opens PARENT/NAME; false: it does not exist.
bool WorkFolder::open_outer() {
    outer_ = open_beneath(parent_.get(), name_, O_RDONLY | O_DIRECTORY);
    if (!outer_.is_open()) {
        if (errno == ENOENT) return false;
        fail_system("open folder", outer_path_, errno);
    }
    struct stat status;
    if (::fstat(outer_.get(), &status) != 0) fail_system("look at", outer_path_, errno);
    if (status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        fail(Status::BAD_ARGUMENT, outer_path_, " belongs to another user, or others may write to it: remove it");
    return true;
}

std::unique_ptr<WorkFolder> WorkFolder::take_over(const std::string& parent, const std::string& name, const std::string& token) {
    std::unique_ptr<WorkFolder> found(new WorkFolder);
    found->is_kept_ = true;  // until this process owns the folder
    found->parent_ = open_folder(parent);
    found->name_ = name;
    found->outer_path_ = parent + "/" + name;
    found->token_ = token;
    found->path_ = found->outer_path_ + "/" + token;
    if (!found->open_outer()) return nullptr;
    found->own_ = open_beneath(found->outer_.get(), token, O_RDONLY | O_DIRECTORY);
    if (!found->own_.is_open()) return nullptr;
    Lock lock = take_lock(found->own_.get(), kLock);
    // If the file system has no locks, take the folder without one: the caller holds the lock of the scratch folder.
    if (lock.state != LockState::free && (lock.state != LockState::unknown || !lock.file.is_open())) return nullptr;
    found->lock_ = std::move(lock.file);
    found->is_kept_ = false;
    return found;
}

void WorkFolder::remove_all_but(const std::set<std::string>& names) const {
    for (const std::string& name : entries_of(own_.get()))
        if (name != kLock && !names.contains(name)) ::unlinkat(own_.get(), name.c_str(), 0);
}

// Makes the folder and its lock. False: another process has removed a part of it meanwhile, because it was not locked yet.
bool WorkFolder::claim() {
    if (::mkdirat(parent_.get(), name_.c_str(), S_IRWXU) != 0 && errno != EEXIST) fail_system("make folder", outer_path_, errno);
    if (!open_outer()) return false;
    struct stat status;
    for (const std::string& other : entries_of(outer_.get())) remove_if_abandoned(outer_.get(), other);
    token_ = random_token();
    path_ = outer_path_ + "/" + token_;
    if (::mkdirat(outer_.get(), token_.c_str(), S_IRWXU) != 0) {
        if (errno == ENOENT || errno == EEXIST) return false;
        fail_system("make folder", path_, errno);
    }
    own_ = open_beneath(outer_.get(), token_, O_RDONLY | O_DIRECTORY);
    if (own_.is_open()) lock_ = open_beneath(own_.get(), kLock, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (!own_.is_open() || !lock_.is_open()) {
        if (errno == ENOENT) return false;
        fail_system("lock", path_, errno);
    }
    // If the file system has no locks, use the folder without one: other processes then do not treat it as abandoned.
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    return ::fstat(lock_.get(), &status) == 0 && status.st_nlink > 0;
}

WorkFolder::~WorkFolder() {
    if (is_kept_) return;
    remove_all_but({});
    ::unlinkat(own_.get(), kLock, 0);
    ::unlinkat(outer_.get(), token_.c_str(), AT_REMOVEDIR);
    ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
}

}  // namespace tailrace
