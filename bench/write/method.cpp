#include "method.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace bench {

std::string Method::rank_path(int step, int rank, const char *suffix) const {
    char text[64];
    std::snprintf(text, sizeof text, "/step%06d.%06d%s", step, rank, suffix);
    return run_.directory + text;
}

std::array<uint64_t, 3> Method::chunk() const {
    const auto &block = work().shape.block;
    const uint64_t plane = block[1] * block[2] * static_cast<uint64_t>(work().shape.element_bytes);
    return {std::max<uint64_t>(chunk_bytes / plane, 1), block[1], block[2]};
}

bool Method::is_memory(int fd) {
    struct statfs system;
    return fstatfs(fd, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

Entries all_entries() {
    Entries entries;
    add_raw(entries);
    add_packed(entries);
    add_tailrace(entries);
    add_hdf5(entries);
    add_pnetcdf(entries);
    add_netcdf4(entries);
    add_append(entries);
    return entries;
}

namespace {

constexpr off_t device_begins_at_once_bytes = 16 << 20;

template <class Work>
void with_open(const std::string &path, const char *call, Work &&work) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("cannot open " + path + " to sync it: " + std::strerror(errno));
    if (work(fd) != 0) fail(std::string("cannot ") + call + " " + path + ": " + std::strerror(errno));
    close(fd);
}

void sync_path(const std::string &path) { with_open(path, "fsync", fsync); }

}  // namespace

void Method::written(const std::string &path) {
    if (!run_.durable) return;
    unsynced_.push_back(path);
    with_open(path, "begin to sync", [](int fd) {
        struct stat status;
        if (fstat(fd, &status) != 0) return -1;
        return status.st_size > device_begins_at_once_bytes ? 0 : sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    });
}

void Method::sync() {
    if (!run_.durable) return;
    for (const std::string &path : unsynced_) sync_path(path);
    unsynced_.clear();
    meet(work().comm);
    if (work().rank == 0) sync_path(run_.directory);
}

}  // namespace bench
