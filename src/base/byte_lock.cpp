#include "base/byte_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/system_error.hpp"

namespace tailrace {
namespace {

struct flock request(uint64_t byte, int type) {
    struct flock lock{};
    lock.l_type = static_cast<short>(type);
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(byte);
    lock.l_len = 1;
    return lock;
}

LockAnswer answer_of_errno(const std::string& path) {
    switch (errno) {
        case EAGAIN:
        case EACCES: return LockAnswer::busy;
        case ENOLCK:
        case ENOSYS:
        case EOPNOTSUPP:
        case EINVAL: return LockAnswer::not_supported;
        default: fail_system("lock", path, errno);
    }
}

int flags_of(ByteLock::File file) {
    switch (file) {
        case ByteLock::File::made: return O_RDWR | O_CREAT;
        case ByteLock::File::existing: return O_RDWR;
        case ByteLock::File::looked_at: break;
    }
    return O_RDONLY;
}

bool has_option(const std::string& options, std::string_view wanted) {
    std::istringstream words(options);
    for (std::string word; std::getline(words, word, ',');)
        if (word == wanted) return true;
    return false;
}

}  // namespace

ByteLock::ByteLock(const std::string& path, File file) : path_(path), file_("open the lock", path, flags_of(file)) {}

LockAnswer ByteLock::try_take(uint64_t byte, LockKind kind) {
    struct flock lock = request(byte, kind == LockKind::shared ? F_RDLCK : F_WRLCK);
    return ::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0 ? LockAnswer::taken : answer_of_errno(path_);
}

LockAnswer ByteLock::look(uint64_t byte) const {
    struct flock lock = request(byte, F_WRLCK);
    if (::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0) return answer_of_errno(path_);
    return lock.l_type == F_UNLCK ? LockAnswer::taken : LockAnswer::busy;
}

int64_t ByteLock::file_system_now_ns() const {
    struct stat status;
    if (::futimens(file_.get(), nullptr) != 0 || ::fstat(file_.get(), &status) != 0) fail_system("set the time of", path_, errno);
    return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

LockReach lock_reach_of(const std::string& type, const std::string& options) {
    // File systems that only one node mounts, or on which all nodes see each other's locks.
    constexpr std::array kEverywhere = {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "f2fs", "gpfs", "ceph"};
    for (const char* known : kEverywhere)
        if (type == known) return LockReach::all_nodes;
    const bool is_nfs = type == "nfs" || type == "nfs4";
    if (is_nfs && !has_option(options, "nolock") && !has_option(options, "local_lock=all") &&
        !has_option(options, "local_lock=posix"))
        return LockReach::all_nodes;
    return type == "lustre" && has_option(options, "flock") ? LockReach::all_nodes : LockReach::this_node;
}

// Looks the file system up in /proc/self/mountinfo, whose lines are: number, parent, MAJOR:MINOR, root, mount point, options,
// optional words, "-", type, source, more options.
LockReach lock_reach(const std::string& directory) {
    struct stat status;
    if (::stat(directory.c_str(), &status) != 0) return LockReach::this_node;
    const std::string device = text(major(status.st_dev), ":", minor(status.st_dev));
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string number, parent, of, root, point, options, word, type, source, more;
        words >> number >> parent >> of >> root >> point >> options;
        if (of != device) continue;
        while (words >> word && word != "-") {}
        words >> type >> source >> more;
        return lock_reach_of(type, options + "," + more);
    }
    return LockReach::this_node;
}

}  // namespace tailrace
