#include "base/paths.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/file.hpp"
#include "base/system_error.hpp"

namespace tailrace {
namespace {

// An open directory, used instead of the iterators of std::filesystem. RATIONALE: those end the process when memory runs out: GCC's
// library allocates memory in a function that may not throw (fs_dir.cc, _Dir::advance; seen with GCC 12.2).
using Directory = std::unique_ptr<DIR, decltype([](DIR* directory) { ::closedir(directory); })>;

// Opens `name` within an open directory; null if absent. `path` is for messages.
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

// The names in a directory, sorted.
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

// Removes `name` within an open directory, with all below it. Symbolic links are removed, not followed.
void remove_within(int parent, const std::string& name, const std::string& path) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT || errno == ENOTDIR) return;
    if (errno != EISDIR) fail_system("remove", path, errno);
    // Tries several times: a rank of a killed run may live for another moment and make a file there.
    constexpr int kMostTimes = 10;
    for (int times = 1;; ++times) {
        const Directory directory = open_directory("remove", parent, name, path, O_NOFOLLOW);
        if (!directory) return;
        for (const std::string& entry : names_in(directory, path))
            remove_within(::dirfd(directory.get()), entry, path + "/" + entry);
        if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return;
        if ((errno != ENOTEMPTY && errno != EEXIST) || times == kMostTimes) fail_system("remove", path, errno);
    }
}

}  // namespace

void make_directories(const std::string& path, const std::string& within, bool sync) {
    if (path.empty()) return;
    const std::string parent = std::filesystem::path(path).parent_path();
    const auto is_made = [&] {
        if (::mkdir(path.c_str(), 0777) != 0) return false;
        if (sync) sync_directory(parent);
        return true;
    };
    if (is_made()) return;
    if (errno == ENOENT) {
        if (parent == within && !within.empty()) fail_system("make directory", path, ENOENT);
        if (parent != path) make_directories(parent, within, sync);
        if (is_made()) return;
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
    File directory = File::open_directory(path.empty() ? "." : path);
    directory.sync();
}

void sync_directories(const std::string& path) {
    std::error_code code;
    std::filesystem::directory_iterator entry(path, code);
    for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code))
        if (std::error_code ignored; entry->is_directory(ignored) && !entry->is_symlink(ignored)) sync_directories(entry->path());
    if (code) fail_system("list directory", path, code.value());
    sync_directory(path);
}

void sync_directory_if_readable(const std::string& path) {
    if (::access(path.c_str(), R_OK) == 0) sync_directory(path);
}

bool path_exists(const std::string& path) {
    struct stat status;
    if (::lstat(path.c_str(), &status) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) fail_system("check for", path, errno);
    return false;
}

bool is_directory(const std::string& path) {
    struct stat status;
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool directory_has(const std::string& directory, const std::string& name) {
    const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return path_exists(directory + "/" + name);  // for example, if too many files are open
    struct stat status;
    const int code = ::fstatat(descriptor, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
    ::close(descriptor);
    if (code != 0 && code != ENOENT) fail_system("check for", directory + "/" + name, code);
    return code == 0;
}

bool make_new_file(const std::string& path) {
    int descriptor;
    do {
        descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0 && errno == EEXIST) return false;
    if (descriptor < 0) fail_system("create", path, errno);
    ::close(descriptor);
    return true;
}

void link_in_place(const std::string& from, const std::string& to, const std::string& temporary) {
    remove_file(temporary);
    if (::link(from.c_str(), temporary.c_str()) != 0) {
        const std::filesystem::path target =
            std::filesystem::path(from).lexically_relative(std::filesystem::path(to).parent_path());
        if (::symlink(target.c_str(), temporary.c_str()) != 0) fail_system("link", temporary, errno);
    }
    rename_path(temporary, to);
    remove_file(temporary);  // renaming over another name of the same file leaves both
}

bool is_same_file(const std::string& path, const std::string& other) {
    struct stat a, b;
    return ::stat(path.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_open_at(int descriptor, const std::string& path) {
    struct stat a, b;
    return ::fstat(descriptor, &a) == 0 && ::stat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void copy_file(const std::string& from, const std::string& to, bool sync) {
    const File source = File::open_read(from);
    File copy = File::create(to);
    constexpr uint64_t kPieceBytes = 8u << 20;
    std::vector<char> piece;
    for (uint64_t at = 0, bytes = source.size_bytes(); at < bytes; at += kPieceBytes) {
        piece.resize(std::min(kPieceBytes, bytes - at));
        source.read_at(at, piece.data(), piece.size());
        copy.write_at(at, piece.data(), piece.size());
    }
    if (sync) copy.sync();
    copy.close();
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
