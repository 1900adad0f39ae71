#include "base/file.hpp"

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
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/fastest_way.hpp"
#include "base/paths.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kMostMapped = 16u << 20;  // most bytes mapped at once: the page tables of a mapping need memory, too

// The name of the kind of what is not a regular file; "" for a regular file.
const char* kind_that_is_no_file(mode_t mode) {
    if (S_ISREG(mode)) return "";
    return S_ISLNK(mode)    ? "a symbolic link"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISDIR(mode)  ? "a directory"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

// Throws CORRUPT unless `mode` is that of a regular file. RATIONALE: a link that another user puts in place of a file of the stream
// would make Tailrace read or overwrite any file of this user, and opening a FIFO waits for ever.
void refuse_unless_regular(const std::string& path, mode_t mode) {
    const std::string_view kind = kind_that_is_no_file(mode);
    if (kind.empty()) return;
    fail(Status::CORRUPT, path, " is ", kind,
         ", and not a file: Tailrace opens no links, FIFOs or devices in place of the files of ",
         "a stream; put the file itself there", kind == "a symbolic link" ? ", or link the whole directory" : "");
}

int open_once(const std::string& path, int flags) {
    int descriptor;
    do {
        descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

// Drops the first `done` bytes from a list of buffers.
std::span<iovec> drop_front(std::span<iovec> buffers, size_t done) {
    while (!buffers.empty() && done >= buffers.front().iov_len) {
        done -= buffers.front().iov_len;
        buffers = buffers.subspan(1);
    }
    if (done > 0) {
        buffers.front().iov_base = static_cast<char*>(buffers.front().iov_base) + done;
        buffers.front().iov_len -= done;
    }
    return buffers;
}

// The two ways to read many cached bytes: from a mapping, or with a read call. On an AMD EPYC, 128 MiB take 14 and 17 ms on ext4,
// but 30 and 20 ms on tmpfs, whose pages are small.
enum CachedWay : size_t { mapped, by_call };
FastestWay<2> cached_ways[2];  // on tmpfs, and elsewhere
constexpr uint64_t kTimedReadBytes =
    4u << 20;  // each way is timed on so many bytes at most: the slower one may take three times as long

FastestWay<2>& cached_ways_of(int descriptor) {
    struct statfs system;
    return cached_ways[::fstatfs(descriptor, &system) == 0 && system.f_type == TMPFS_MAGIC ? 0 : 1];
}

// Copies bytes from the page cache into the front of a buffer. Returns how many; 0: they are not cached, or a call is faster.
uint64_t copy_cached(int descriptor, uint64_t address, const iovec& into, FastestWay<2>& ways) {
    if (ways.next() != mapped) return 0;
    Stopwatch watch;
    const uint64_t bytes = std::min<uint64_t>(into.iov_len, ways.is_found() ? kMostMapped : kTimedReadBytes);
    const auto cached = CachedBytes::find(descriptor, address, bytes);
    if (!cached) return 0;
    copy_past_caches(into.iov_base, cached->data(), bytes);
    if (!cached->are_still_there()) return 0;
    ways.add(mapped, bytes, watch.lap());
    return bytes;
}

}  // namespace

int open_regular_file(const char* doing, const std::string& path, int flags, Links links) {
    const int all = flags | O_NONBLOCK | (links == Links::refused ? O_NOFOLLOW : 0);
    int descriptor = open_once(path, all);
    if (descriptor < 0) {
        const int code = errno;
        struct stat status;
        const bool is_no_file = code == ELOOP || code == ENXIO || code == EISDIR;
        if (is_no_file && links == Links::refused && ::lstat(path.c_str(), &status) == 0)
            refuse_unless_regular(path, status.st_mode);
        if (code != EWOULDBLOCK) fail_system(doing, path, code);
        // Another process has a lease on the file. The kernel makes it give up the lease for an open that waits.
        descriptor = open_once(path, all & ~O_NONBLOCK);
        if (descriptor < 0) fail_system(doing, path, errno);
    }
    struct stat status;
    const bool may_be_device = links == Links::followed;
    if (::fstat(descriptor, &status) == 0 && !S_ISREG(status.st_mode) && !(may_be_device && S_ISCHR(status.st_mode))) {
        ::close(descriptor);
        refuse_unless_regular(path, status.st_mode);
    }
    return descriptor;
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

File File::create(const std::string& path) { return {open_regular_file("create", path, O_RDWR | O_CREAT | O_TRUNC), path}; }
File File::open_write(const std::string& path) { return {open_regular_file("open for writing", path, O_RDWR), path}; }
File File::open_read(const std::string& path) { return {open_regular_file("open", path, O_RDONLY), path}; }
File File::open_append(const std::string& path, bool make) {
    return {open_regular_file("open for appending", path, O_WRONLY | O_APPEND | (make ? O_CREAT : 0)), path};
}

File File::open_users_file(const std::string& path) { return {open_regular_file("open", path, O_RDONLY, Links::followed), path}; }
File File::open_of_process(const std::string& path) {
    return {open_regular_file("open for writing", path, O_RDWR, Links::followed), path};
}

File File::open_directory(const std::string& path) {
    const int descriptor = open_once(path, O_RDONLY | O_DIRECTORY);
    if (descriptor < 0) fail_system("open", path, errno);
    return {descriptor, path};
}

File File::create_unnamed(const std::string& directory) {
    return {open_regular_file("make a file without a name in", directory, O_RDWR | O_TMPFILE, Links::followed),
            directory + " (a file without a name)"};
}

std::string File::path_for_others() const { return text("/proc/", getpid(), "/fd/", descriptor_); }

uint64_t File::size_bytes() const {
    struct stat status;
    if (::fstat(descriptor_, &status) != 0) fail_system("get the size of", path_, errno);
    return static_cast<uint64_t>(status.st_size);
}

void File::write_at(uint64_t address, const void* data, uint64_t bytes) {
    iovec buffer{const_cast<void*>(data), bytes};
    write_at(address, {&buffer, 1});
}

void File::write_at(uint64_t address, std::span<iovec> buffers) {
    buffers = drop_front(buffers, 0);
    while (!buffers.empty()) {
        const int count = static_cast<int>(std::min<size_t>(buffers.size(), IOV_MAX));
        const ssize_t done = ::pwritev(descriptor_, buffers.data(), count, static_cast<off_t>(address));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail_system("write", path_, errno);
        if (done == 0) fail_system("write", path_, EIO);
        address += static_cast<uint64_t>(done);
        buffers = drop_front(buffers, static_cast<size_t>(done));
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
    iovec buffer{data, bytes};
    read(address, {&buffer, 1}, false);
}

void File::read_stable_at(uint64_t address, void* data, uint64_t bytes) const {
    iovec buffer{data, bytes};
    read(address, {&buffer, 1}, true);
}

void File::read_stable_at(uint64_t address, std::span<iovec> buffers) const { read(address, buffers, true); }

void File::read(uint64_t address, std::span<iovec> buffers, bool stable) const {
    buffers = drop_front(buffers, 0);
    while (!buffers.empty()) {
        const bool is_long = stable && buffers.front().iov_len >= CachedBytes::kFewest;
        FastestWay<2>* const ways = is_long ? &cached_ways_of(descriptor_) : nullptr;
        if (const uint64_t done = is_long ? copy_cached(descriptor_, address, buffers.front(), *ways) : 0; done > 0) {
            address += done;
            buffers = drop_front(buffers, done);
            continue;
        }
        const bool is_timed = is_long && !ways->is_found() && ways->next() == by_call;
        iovec timed{buffers.front().iov_base, std::min<size_t>(buffers.front().iov_len, kTimedReadBytes)};
        const std::span<iovec> wanted = is_timed ? std::span(&timed, 1) : buffers.first(std::min<size_t>(buffers.size(), IOV_MAX));
        const double began_s = is_timed ? seconds_now() : 0;
        const ssize_t done = ::preadv(descriptor_, wanted.data(), static_cast<int>(wanted.size()), static_cast<off_t>(address));
        if (is_timed && done > 0) ways->add(by_call, static_cast<uint64_t>(done), seconds_now() - began_s);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail_system("read", path_, errno);
        if (done == 0) {
            uint64_t missing = 0;
            for (const iovec& buffer : buffers) missing += buffer.iov_len;
            fail(Status::CORRUPT, path_, " ends at byte ", address, ", ", missing, " bytes too early: it was truncated");
        }
        address += static_cast<uint64_t>(done);
        buffers = drop_front(buffers, static_cast<size_t>(done));
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
    // Reserves nothing on tmpfs: reserving makes nothing contiguous there, and touches every page once more (a sixth of the write
    // time).
    struct statfs system;
    if (::fstatfs(descriptor_, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)) return;
    if (bytes == 0 || ::fallocate(descriptor_, 0, static_cast<off_t>(address), static_cast<off_t>(bytes)) == 0) return;
    if (errno == ENOSPC || errno == EDQUOT) fail_system("reserve room for", path_, errno);
    // The file system has no such call: without room, the writes themselves fail.
}

void* File::map(uint64_t address, uint64_t bytes) {
    // Without room on the device, a store into the mapped memory ends the process with SIGBUS. So the room is reserved first.
    if (const int code = ::posix_fallocate(descriptor_, static_cast<off_t>(address), static_cast<off_t>(bytes)); code != 0)
        fail_system("reserve room for", path_, code);
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, static_cast<off_t>(address));
    if (at == MAP_FAILED) fail_system("map", path_, errno);
    return at;
}

void File::set_size(uint64_t bytes) {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail_system("set the size of", path_, errno);
}

void File::extend_to(uint64_t bytes) {
    if (size_bytes() >= bytes || ::fallocate(descriptor_, 0, static_cast<off_t>(bytes - 1), 1) == 0) return;
    if (errno != EOPNOTSUPP && errno != ENOSYS) fail_system("extend", path_, errno);
    const std::byte zero{};
    write_at(bytes - 1, &zero, 1);
}

void File::sync() {
    if (::fsync(descriptor_) != 0) fail_system("fsync", path_, errno);
}

void File::begin_sync() {
    if (::sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE) == 0) return;
    // A file system without this call begins to write in sync().
    if (errno != ENOSYS && errno != EINVAL && errno != ESPIPE && errno != EOPNOTSUPP) fail_system("begin to sync", path_, errno);
}

void File::lock_shared() { ::flock(descriptor_, LOCK_SH | LOCK_NB); }

bool File::is_at(const std::string& path) const { return is_open_at(descriptor_, path); }

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

}  // namespace tailrace
