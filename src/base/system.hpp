// One checked function for each system call that Tailrace makes on files. All throw Error with the path, the system's reason and,
// where there is one, the remedy. This is the choke point at which faults are injected in tests.
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

// An open file; closes itself. Writes are whole or an error.
class File {
public:
    File() = default;
    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File();

    static File create(const std::string& path);      // new or emptied, read and write
    static File open_write(const std::string& path);  // existing, read and write
    static File open_read(const std::string& path);
    static File open_append(const std::string& path, bool make = true);  // absent: made, or NOT_FOUND
    static File create_unnamed(const std::string& directory);            // in no directory: gone when it is closed

    // Where another process of this user and node can open the file as long as it is open here, also one without a name.
    std::string path_for_others() const;
    bool is_open() const { return descriptor_ >= 0; }
    const std::string& path() const { return path_; }
    uint64_t size_bytes() const;

    void write_at(uint64_t address, const void* data, uint64_t bytes);
    void write_at(uint64_t address, std::span<iovec> pieces);          // uses up the pieces
    void append(const void* data, uint64_t bytes);                     // one write call: whole or an error
    void read_at(uint64_t address, void* data, uint64_t bytes) const;  // all of them, or CORRUPT
    // Of bytes that nobody cuts off meanwhile, such as a committed step's: who cuts what is mapped ends the process that reads.
    void read_settled_at(uint64_t address, void* data, uint64_t bytes) const;
    void read_settled_at(uint64_t address, std::span<iovec> pieces) const;  // uses up the pieces
    std::string read_all() const;
    // Settled bytes as they lie in the page cache, where that is quicker than reading them.
    std::optional<CachedBytes> cached(uint64_t address, uint64_t bytes) const {
        return CachedBytes::find(descriptor_, address, bytes);
    }
    // Bytes of another file, which do not pass through this process. False where the file systems cannot do that: nothing is
    // copied then.
    bool copy_from(const File& from, uint64_t from_address, uint64_t address, uint64_t bytes);
    void reserve(uint64_t address, uint64_t bytes);  // room on the device where the file system can, else nothing
    // Those bytes as memory that is shared with the file, with room on the device; the caller unmaps it.
    void* map(uint64_t address, uint64_t bytes);
    void set_size(uint64_t bytes);
    void sync();        // data and size are on the device
    void begin_sync();  // the device begins with what sync() will wait for; may take as long where that is much
    void close();       // checked, unlike the destructor's
    // Until it is closed. False where another process has it; true, too, where the file system has no locks.
    bool try_lock();

private:
    void read(uint64_t address, std::span<iovec> pieces, bool settled) const;
    File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
    int descriptor_ = -1;
    std::string path_;
};

// What a call is told that failed with this errno.
Status status_of_errno(int code);

// With parents; existing ones are fine. `within` and what is above it must be there: it is not made.
void make_directories(const std::string& path, const std::string& within = "");
void rename_path(const std::string& from, const std::string& to);
void replace_directory(const std::string& from, const std::string& to);  // a directory that stands there is removed
void remove_tree(const std::string& path);                               // absent is fine
void remove_directory_if_empty(const std::string& path) noexcept;        // absent is fine, and so is one that cannot be removed
void remove_file(const std::string& path);                               // absent is fine
void sync_directory(const std::string& path);
bool path_exists(const std::string& path);
std::vector<std::string> list_directory(const std::string& path);  // names, sorted; [] if absent
// Writes the whole text to a temporary name beside `path` and renames it there.
void replace_file(const std::string& path, const std::string& content, bool sync);

}  // namespace tailrace
