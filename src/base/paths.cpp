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

// RATIONALE: not std::filesystem. Its iterators end the process when a request for memory fails: GCC's library asks for memory in a
// function that may not throw (fs_dir.cc, _Dir::advance; seen with GCC 12.2).
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

// Removes `name` within an open directory, with all below it. Symbolic links are removed, not followed.
void remove_within(int parent, const std::string& name, const std::string& path) {
    if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT || errno == ENOTDIR) return;
    if (errno != EISDIR) fail_system("remove", path, errno);
    const Directory directory = open_directory("remove", parent, name, path, O_NOFOLLOW);
    if (!directory) return;
    for (const std::string& entry : names_in(directory, path)) remove_within(::dirfd(directory.get()), entry, path + "/" + entry);
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) fail_system("remove", path, errno);
}

}  // namespace

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
    if (errno != ENOENT && errno != ENOTDIR) fail_system("check for", path, errno);
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
