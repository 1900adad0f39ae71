#include "method.hpp"

#include <fcntl.h>
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

Entries all_entries() {
    Entries entries;
    add_raw(entries);
    add_packed(entries);
    add_tailrace(entries);
    add_hdf5(entries);
    add_pnetcdf(entries);
    add_netcdf4(entries);
    return entries;
}

void sync_path(const std::string &path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("cannot open " + path + " to sync it: " + std::strerror(errno));
    if (fsync(fd) != 0) fail("cannot fsync " + path + ": " + std::strerror(errno));
    close(fd);
}

void sync_step(const Run &run, const std::string &path, bool writer) {
    if (writer) sync_path(path);
    meet(run.work->comm);
    if (run.work->rank == 0) sync_path(run.directory);
}

}  // namespace bench
