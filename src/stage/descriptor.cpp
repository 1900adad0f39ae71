#include "stage/descriptor.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/system_error.hpp"

namespace tailrace {

void Descriptor::close() noexcept {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void allow_most_open_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

Descriptor open_folder(const std::string& path) {
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.is_open()) fail_system("open folder", path, errno);
    return folder;
}

Descriptor open_beneath(int folder, const std::string& path, int flags, mode_t mode) {
    open_how how{};
    how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC | O_NOFOLLOW;
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    constexpr int kMostTimes = 100;  // a rename at the same time makes openat2 fail with EAGAIN: try again
    for (int times = 0; times < kMostTimes; ++times) {
        const long found = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
        if (found >= 0) return Descriptor(static_cast<int>(found));
        if (errno != EAGAIN && errno != EINTR) break;
    }
    if (errno != ENOSYS && errno != EPERM) return {};
    // Without openat2 (kernels before 5.6, and containers that refuse it), open component by component.
    int code = 0;
    Descriptor at(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
    size_t begin = 0;
    for (size_t slash = path.find('/'); slash != std::string::npos && at.is_open(); slash = path.find('/', begin)) {
        const std::string part = path.substr(begin, slash - begin);
        begin = slash + 1;
        if (part.empty() || part == "..") {
            errno = EXDEV;
            return {};
        }
        at = Descriptor(::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        code = errno;
    }
    if (!at.is_open()) {
        errno = code;
        return {};
    }
    return Descriptor(::openat(at.get(), path.c_str() + begin, flags | O_CLOEXEC | O_NOFOLLOW, mode));
}

Descriptor open_parent(int folder, const std::string& path, bool make, std::string& name) {
    const size_t slash = path.rfind('/');
    name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (slash == std::string::npos) return Descriptor(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
    const std::string parent = path.substr(0, slash);
    Descriptor found = open_beneath(folder, parent, O_RDONLY | O_DIRECTORY);
    if (found.is_open() || !make || errno != ENOENT) return found;
    std::string last;
    const Descriptor above = open_parent(folder, parent, true, last);
    if (!above.is_open()) return {};
    if (::mkdirat(above.get(), last.c_str(), 0777) != 0 && errno != EEXIST) return {};
    return open_beneath(above.get(), last, O_RDONLY | O_DIRECTORY);
}

void write_fully(int descriptor, uint64_t at, const void* data, size_t bytes, const std::string& path) {
    const char* from = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t done = ::pwrite(descriptor, from, bytes, static_cast<off_t>(at));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) fail_system("write", path, done == 0 ? EIO : errno);
        from += done;
        at += static_cast<uint64_t>(done);
        bytes -= static_cast<size_t>(done);
    }
}

size_t read_up_to(int descriptor, uint64_t at, void* data, size_t bytes, const std::string& path) {
    size_t all = 0;
    while (all < bytes) {
        const ssize_t done = ::pread(descriptor, static_cast<char*>(data) + all, bytes - all, static_cast<off_t>(at + all));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail_system("read", path, errno);
        if (done == 0) break;
        all += static_cast<size_t>(done);
    }
    return all;
}

bool times_show_changes(int descriptor) {
    constexpr long kExt = 0xEF53, kXfs = 0x58465342;
    struct statfs system;
    if (::fstatfs(descriptor, &system) != 0) return false;
    const long type = static_cast<long>(system.f_type);
    return type == kExt || type == kXfs;
}

Identity Identity::of(const struct stat& status) {
    constexpr int64_t kSecond = 1000000000;
    return {.device = status.st_dev,
            .inode = status.st_ino,
            .size_bytes = static_cast<uint64_t>(status.st_size),
            .mtime_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec,
            .ctime_ns = status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec,
            .mode = status.st_mode,
            .uid = status.st_uid,
            .gid = status.st_gid,
            .links = static_cast<uint32_t>(status.st_nlink)};
}

}  // namespace tailrace
