// A part's file while it is written. If the file has one writer and is not read before it is closed, a small part is held in memory
// and written in one call: arrays, seals and metadata. RATIONALE: on a distributed file system each call sends one or several
// messages (MooseFS on the bench cluster: 0.2 to 0.8 ms).
#pragma once

#include <cstddef>
#include <vector>

#include "base/file.hpp"

namespace tailrace {

class HeldFile {
public:
    HeldFile() = default;
    // `hold`: no other process writes the file, or reads it before close().
    HeldFile(File file, bool hold) : file_(std::move(file)), holds_(hold) {}

    const std::string& path() const { return file_.path(); }
    // These work like those of File. read_at() does not see held bytes: call it only if nothing is held.
    void write_at(uint64_t address, std::span<iovec> buffers);
    void write_at(uint64_t address, const void* data, uint64_t bytes);
    void read_at(uint64_t address, void* data, uint64_t bytes) const { file_.read_at(address, data, bytes); }
    uint64_t size_bytes() const;
    void lock_shared() { file_.lock_shared(); }
    bool is_at(const std::string& path) const { return file_.is_at(path); }
    void reserve(uint64_t address, uint64_t bytes);
    void set_size(uint64_t bytes);
    void extend_to(uint64_t bytes);
    void sync();
    void begin_sync();
    void close();

private:
    void write_held();

    File file_;
    bool holds_ = false;
    std::vector<std::byte> held_;  // the file from its beginning; bytes that were not written are zero, as in a file
};

}  // namespace tailrace
