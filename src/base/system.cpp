#include "base/system.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/copy.hpp"
#include "base/error.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostMapped = 16u << 20;  // at once: the page tables of a mapping are memory, too

[[noreturn]] void fail_system(const char* doing, const std::string& path, int code) {
    const Status status = status_of_errno(code);
    std::string remedy;
    if (status == Status::NO_SPACE) remedy = "; free space or raise the quota, or write elsewhere";
    if (code == EACCES || code == EPERM || code == EROFS) remedy = "; choose a directory that this user may write";
    if (code == EMFILE || code == ENFILE) remedy = "; raise the limit of open files (ulimit -n)";
    fail(status, "cannot ", doing, " ", path, ": ", std::strerror(code), remedy);
}

int open_checked(const char* doing, const std::string& path, int flags) {
    int descriptor;
    do {
        descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) fail_system(doing, path, errno);
    return descriptor;
}

// Drops the first `done` bytes from a list of pieces.
std::span<iovec> drop_front(std::span<iovec> pieces, size_t done) {
    while (!pieces.empty() && done >= pieces.front().iov_len) {
        done -= pieces.front().iov_len;
        pieces = pieces.subspan(1);
    }
    if (done > 0) {
        pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + done;
        pieces.front().iov_len -= done;
    }
    return pieces;
}

// Bytes that lie in the page cache, into the front of a piece of memory. How many; 0: they are to be read.
uint64_t copy_cached(int descriptor, uint64_t address, const iovec& into) {
    const uint64_t bytes = std::min<uint64_t>(into.iov_len, kMostMapped);
    const auto cached = CachedBytes::find(descriptor, address, bytes);
    if (!cached) return 0;
    copy_past_caches(into.iov_base, cached->data(), bytes);
    return cached->are_still_there() ? bytes : 0;
}

// By hand and not by std::filesystem, whose iterators end the process where a request for memory fails: GCC's library makes it in a
// function that may not throw (fs_dir.cc, _Dir::advance; seen with GCC 12.2).
using Directory = std::unique_ptr<DIR, decltype([](DIR* directory) { ::closedir(directory); })>;

// Of a name within an open directory; null if absent. `path` is for messages.
Directory open_directory(const char* doing, int parent, const std::string& name, const std::string& path, int flags) {
    const int descriptor = ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (descriptor < 0 && errno == ENOENT) return nullptr;
    if (descriptor < 0) fail_system(doing, path, errno);
    Directory directory(::fdopendir(descriptor));
    if (directory) return directory;
    const int code = errno;
    ::close(descriptor);
    fail_system(doing, path, code);
}

// Sorted.
std::vector<std::string> names_in(const Directory& directory, const std::string& path) {
    std::vector<std::string> names;
    while (true) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr && errno != 0) fail_system("list", path, errno);
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

// What a name within an open directory stands for, with all below it; links are removed and not followed.
void remove_within(int parent, const std::string& name, const std::string& path) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT || errno == ENOTDIR) return;
    if (errno != EISDIR) fail_system("remove", path, errno);
    const Directory directory = open_directory("remove", parent, name, path, O_NOFOLLOW);
    if (!directory) return;
    for (const std::string& entry : names_in(directory, path)) remove_within(::dirfd(directory.get()), entry, path + "/" + entry);
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) fail_system("remove", path, errno);
}

}  // namespace

Status status_of_errno(int code) {
    if (code == ENOSPC || code == EDQUOT) return Status::NO_SPACE;
    return code == ENOENT ? Status::NOT_FOUND : Status::IO_FAILED;
}

File::File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
    if (this != &other) {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = std::exchange(other.descriptor_, -1);
        path_ = std::move(other.path_);
    }
    return *this;
}

File::~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

File File::create(const std::string& path) { return {open_checked("create", path, O_RDWR | O_CREAT | O_TRUNC), path}; }
File File::open_write(const std::string& path) { return {open_checked("open for writing", path, O_RDWR), path}; }
File File::open_read(const std::string& path) { return {open_checked("open", path, O_RDONLY), path}; }
File File::open_append(const std::string& path, bool make) {
    return {open_checked("open for appending", path, O_WRONLY | O_APPEND | (make ? O_CREAT : 0)), path};
}

File File::create_unnamed(const std::string& directory) {
    return {open_checked("make a file without a name in", directory, O_RDWR | O_TMPFILE), directory + " (a file without a name)"};
}

std::string File::path_for_others() const { return text("/proc/", getpid(), "/fd/", descriptor_); }

uint64_t File::size_bytes() const {
    struct stat status;
    if (::fstat(descriptor_, &status) != 0) fail_system("ask the size of", path_, errno);
    return static_cast<uint64_t>(status.st_size);
}

void File::write_at(uint64_t address, const void* data, uint64_t bytes) {
    iovec piece{const_cast<void*>(data), bytes};
    write_at(address, {&piece, 1});
}

void File::write_at(uint64_t address, std::span<iovec> pieces) {
    pieces = drop_front(pieces, 0);
    while (!pieces.empty()) {
        const int count = static_cast<int>(std::min<size_t>(pieces.size(), IOV_MAX));
        const ssize_t done = ::pwritev(descriptor_, pieces.data(), count, static_cast<off_t>(address));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail_system("write", path_, errno);
        if (done == 0) fail_system("write", path_, EIO);
        address += static_cast<uint64_t>(done);
        pieces = drop_front(pieces, static_cast<size_t>(done));
    }
}

void File::append(const void* data, uint64_t bytes) {
    ssize_t done;
    do {
        done = ::write(descriptor_, data, bytes);
    } while (done < 0 && errno == EINTR);
    if (done < 0) fail_system("append to", path_, errno);
    if (static_cast<uint64_t>(done) != bytes) fail_system("append to", path_, ENOSPC);
}

void File::read_at(uint64_t address, void* data, uint64_t bytes) const {
    iovec piece{data, bytes};
    read(address, {&piece, 1}, false);
}

void File::read_settled_at(uint64_t address, void* data, uint64_t bytes) const {
    iovec piece{data, bytes};
    read(address, {&piece, 1}, true);
}

void File::read_settled_at(uint64_t address, std::span<iovec> pieces) const { read(address, pieces, true); }

void File::read(uint64_t address, std::span<iovec> pieces, bool settled) const {
    pieces = drop_front(pieces, 0);
    while (!pieces.empty()) {
        if (const uint64_t done = settled ? copy_cached(descriptor_, address, pieces.front()) : 0; done > 0) {
            address += done;
            pieces = drop_front(pieces, done);
            continue;
        }
        const int count = static_cast<int>(std::min<size_t>(pieces.size(), IOV_MAX));
        const ssize_t done = ::preadv(descriptor_, pieces.data(), count, static_cast<off_t>(address));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail_system("read", path_, errno);
        if (done == 0) {
            uint64_t missing = 0;
            for (const iovec& piece : pieces) missing += piece.iov_len;
            fail(Status::CORRUPT, path_, " ends at byte ", address, ", ", missing, " bytes too early: it was truncated");
        }
        address += static_cast<uint64_t>(done);
        pieces = drop_front(pieces, static_cast<size_t>(done));
    }
}

std::string File::read_all() const {
    std::string content(size_bytes(), '\0');
    read_at(0, content.data(), content.size());
    return content;
}

bool File::copy_from(const File& from, uint64_t from_address, uint64_t address, uint64_t bytes) {
    auto read = static_cast<off64_t>(from_address), written = static_cast<off64_t>(address);
    for (bool begun = false; bytes > 0; begun = true) {
        const ssize_t done = ::copy_file_range(from.descriptor_, &read, descriptor_, &written, bytes, 0);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && !begun && (errno == EXDEV || errno == ENOSYS || errno == EOPNOTSUPP || errno == EINVAL || errno == EPERM))
            return false;
        if (done < 0) fail_system("copy into", path_, errno);
        if (done == 0) fail(Status::CORRUPT, from.path_, " ends at byte ", read, ", ", bytes, " bytes too early: it was truncated");
        bytes -= static_cast<uint64_t>(done);
    }
    return true;
}

void File::reserve(uint64_t address, uint64_t bytes) {
    // In memory nothing lies side by side: reserving would only touch every page once more (a sixth of the time to write it).
    struct statfs system;
    if (::fstatfs(descriptor_, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)) return;
    if (bytes == 0 || ::fallocate(descriptor_, 0, static_cast<off_t>(address), static_cast<off_t>(bytes)) == 0) return;
    if (errno == ENOSPC || errno == EDQUOT) fail_system("reserve room for", path_, errno);
    // Other file systems have no such call; the writes themselves then find out whether there is room.
}

void* File::map(uint64_t address, uint64_t bytes) {
    // Where there is no room, writing to the memory would end the process.
    if (const int code = ::posix_fallocate(descriptor_, static_cast<off_t>(address), static_cast<off_t>(bytes)); code != 0)
        fail_system("reserve room for", path_, code);
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(address));
    if (at == MAP_FAILED) fail_system("map", path_, errno);
    return at;
}

void File::set_size(uint64_t bytes) {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail_system("set the size of", path_, errno);
}

void File::sync() {
    if (::fsync(descriptor_) != 0) fail_system("fsync", path_, errno);
}

void File::begin_sync() {
    if (::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE) == 0) return;
    // A file system without it begins when it is synced.
    if (errno != ENOSYS && errno != EINVAL && errno != ESPIPE && errno != EOPNOTSUPP) fail_system("begin to sync", path_, errno);
}

bool File::try_lock() {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno == EWOULDBLOCK) return false;
    if (errno != ENOSYS && errno != EINVAL && errno != ENOLCK && errno != EOPNOTSUPP) fail_system("lock", path_, errno);
    return true;
}

void File::close() {
    if (descriptor_ < 0) return;
    const int result = ::close(std::exchange(descriptor_, -1));
    if (result != 0 && errno != EINTR) fail_system("close", path_, errno);
}

void make_directories(const std::string& path, const std::string& within) {
    if (path.empty() || ::mkdir(path.c_str(), 0777) == 0) return;
    if (errno == ENOENT) {
        const std::string parent = std::filesystem::path(path).parent_path();
        if (parent == within && !within.empty()) fail_system("make directory", path, ENOENT);
        if (parent != path) make_directories(parent, within);
        if (::mkdir(path.c_str(), 0777) == 0) return;
    }
    struct stat status;
    const int code = errno;
    if (code == EEXIST && ::stat(path.c_str(), &status) == 0) {
        if (S_ISDIR(status.st_mode)) return;
        fail_system("make directory", path, ENOTDIR);
    }
    fail_system("make directory", path, code);
}

void rename_path(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) != 0) fail_system(text("rename ", from, " to").c_str(), to, errno);
}

void replace_directory(const std::string& from, const std::string& to) {
    if (::rename(from.c_str(), to.c_str()) == 0) return;
    if (errno == ENOTEMPTY || errno == EEXIST) remove_tree(to);
    rename_path(from, to);
}

void remove_tree(const std::string& path) { remove_within(AT_FDCWD, path, path); }

void remove_directory_if_empty(const std::string& path) noexcept { ::rmdir(path.c_str()); }

void remove_file(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail_system("remove", path, errno);
}

void sync_directory(const std::string& path) {
    File directory = File::open_read(path.empty() ? "." : path);
    directory.sync();
}

bool path_exists(const std::string& path) {
    struct stat status;
    if (::lstat(path.c_str(), &status) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) fail_system("look for", path, errno);
    return false;
}

std::vector<std::string> list_directory(const std::string& path) {
    const Directory directory = open_directory("list", AT_FDCWD, path, path, 0);
    return directory ? names_in(directory, path) : std::vector<std::string>();
}

void replace_file(const std::string& path, const std::string& content, bool sync) {
    const std::string temporary = path + ".new";
    File file = File::create(temporary);
    file.write_at(0, content.data(), content.size());
    if (sync) file.sync();
    file.close();
    rename_path(temporary, path);
}

}  // namespace tailrace
