// An open file: one checked function for each system call that Tailrace makes on it. All throw Error with the path, the system's
// reason and a remedy where there is one. Tests inject faults here.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cached_bytes.hpp"
#include "base/error.hpp"

namespace tailrace {

// Opens a regular file with open()'s flags and returns its descriptor, which started programs do not inherit. Throws CORRUPT if the
// path is a FIFO, a directory or, unless links are followed, a link or a device. Never waits for the other end of a FIFO. `doing`:
// for the message.
enum class Links { refused, followed };
int open_regular_file(const char* doing, const std::string& path, int flags, Links links = Links::refused);

// Closes itself. A write is complete or an error.
class File {
public:
    File() = default;
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File();

    // These four open as open_regular_file() does, without following links.
    static File create(const std::string& path);      // new or emptied, read and write
    static File open_write(const std::string& path);  // existing, read and write
    static File open_read(const std::string& path);
    static File open_append(const std::string& path, bool make = true);  // absent: made, or NOT_FOUND
    // These two follow links: to a file that the user has named, and to one at another process's path_for_others().
    static File open_users_file(const std::string& path);      // for reading
    static File open_of_process(const std::string& path);      // read and write
    static File open_directory(const std::string& path);       // for sync()
    static File create_unnamed(const std::string& directory);  // has no name: gone when it is closed

    // While the file is open here, another process of this user and node can open it at this path, even if it has no name.
    std::string path_for_others() const;
    bool is_open() const { return descriptor_ >= 0; }
    const std::string& path() const { return path_; }
    uint64_t size_bytes() const;

    void write_at(uint64_t address, const void* data, uint64_t bytes);
    void write_at(uint64_t address, std::span<iovec> buffers);         // changes the list
    void append(const void* data, uint64_t bytes);                     // one write call: whole or an error
    void read_at(uint64_t address, void* data, uint64_t bytes) const;  // all of them, or CORRUPT
    // Reads bytes that no process truncates meanwhile, such as a committed step's. RATIONALE: they may be read through a mapping,
    // and truncating a mapped file ends the reading process with SIGBUS.
    void read_stable_at(uint64_t address, void* data, uint64_t bytes) const;
    void read_stable_at(uint64_t address, std::span<iovec> buffers) const;  // changes the list
    std::string read_all() const;
    // Maps stable bytes that are in the page cache. Returns nothing if some are not cached, or if reading them is faster.
    std::optional<CachedBytes> cached(uint64_t address, uint64_t bytes) const {
        return CachedBytes::find(descriptor_, address, bytes);
    }
    // Copies bytes of another file within the kernel. False where the file systems cannot do that; nothing is copied then.
    bool copy_from(const File& from, uint64_t from_address, uint64_t address, uint64_t bytes);
    void reserve(uint64_t address, uint64_t bytes);  // room on the device, where the file system can reserve it
    // Maps the bytes as memory shared with the file, with room on the device. The caller unmaps them.
    void* map(uint64_t address, uint64_t bytes);
    void set_size(uint64_t bytes);
    // Makes the file at least `bytes` long. Never shortens it, because other processes may write behind its end at the same time.
    void extend_to(uint64_t bytes);
    void sync();        // fsync: data and size are on the device
    void begin_sync();  // starts writing dirty pages to the device; may take as long as sync() if they are many
    void close();       // reports errors, unlike the destructor
    // Until it is closed, HDF5 refuses to open the file for writing in other programs; reading is free. Without effect where the
    // file system has no locks.
    void lock_shared();
    // Whether the path still names this file.
    bool is_at(const std::string& path) const;
    // Locks the file until it is closed. False if another process holds the lock; true where the file system has no locks.
    bool try_lock();

private:
    void read(uint64_t address, std::span<iovec> buffers, bool stable) const;
    File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
    int descriptor_ = -1;
    std::string path_;
};

}  // namespace tailrace
