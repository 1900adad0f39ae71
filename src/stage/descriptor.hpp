// File descriptors of files below an open folder, and the attributes that identify a file's content.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tailrace {

// Owns a file descriptor and closes it.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
    Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Descriptor() { close(); }
    int get() const { return descriptor_; }
    bool is_open() const { return descriptor_ >= 0; }
    void close() noexcept;

private:
    int descriptor_ = -1;
};

// Opens a folder that the user has named, so symbolic links in its path are followed. Throws if it cannot be opened.
Descriptor open_folder(const std::string& path);
// Opens a path below the folder. Follows no symbolic link, and refuses "..". On failure the result is not open, and errno is set.
Descriptor open_beneath(int folder, const std::string& path, int flags, mode_t mode = 0);
// Opens the parent directory of a path below the folder. `make`: makes it and its parents if they do not exist. Sets `name` to the
// last component of the path.
Descriptor open_parent(int folder, const std::string& path, bool make, std::string& name);

// Raises this process's limit of open files as far as it may.
void allow_most_open_files();

void write_fully(int descriptor, uint64_t at, const void* data, size_t bytes, const std::string& path);  // throws
// Reads until `bytes` or the end of the file; throws on errors. Returns the count.
size_t read_up_to(int descriptor, uint64_t at, void* data, size_t bytes, const std::string& path);

// Whether every change of a file's bytes on this file system changes the file's times, also a change through a memory mapping. On
// tmpfs a change through a mapping does not (measured).
bool times_show_changes(int descriptor);

// The attributes of the file that a copy was made of. A program that changes the file changes one of them.
struct Identity {
    uint64_t device = 0, inode = 0, size_bytes = 0;
    int64_t mtime_ns = 0, ctime_ns = 0;
    uint32_t mode = 0, uid = 0, gid = 0, links = 0;

    static Identity of(const struct stat& status);
    bool has_content_of(const Identity& other) const {
        return device == other.device && inode == other.inode && size_bytes == other.size_bytes && mtime_ns == other.mtime_ns;
    }
    bool operator==(const Identity& other) const { return has_content_of(other) && ctime_ns == other.ctime_ns; }
};

}  // namespace tailrace
