// Descriptors of files below an open folder, and what identifies a file's content.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tailrace {

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

// Opens a folder that the user trusts by naming it; throws.
Descriptor open_folder(const std::string& path);
// Opens a path below the folder. Follows no symbolic link and leaves the folder by no "..". Not open: errno says why.
Descriptor open_beneath(int folder, const std::string& path, int flags, mode_t mode = 0);
// Opens the parent of a path below the folder; makes it and its parents if `make`. `name` is the last component.
Descriptor open_parent(int folder, const std::string& path, bool make, std::string& name);

void write_fully(int descriptor, uint64_t at, const void* data, size_t bytes, const std::string& path);  // throws
// Reads until `bytes` or the end of the file; throws on errors. Returns the count.
size_t read_up_to(int descriptor, uint64_t at, void* data, size_t bytes, const std::string& path);

// Whether any change of a file's bytes on this file system changes its times, also one through a mapping. Those of tmpfs do not
// change then (measured).
bool times_show_changes(int descriptor);

// What a copy was made of. A program that changes a file changes one of these.
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
