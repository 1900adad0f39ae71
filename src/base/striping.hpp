// What the file system of a directory prefers, and striping. Lustre spreads a file over storage servers; how is fixed when the file
// is created. Tailrace sets it with liblustreapi where that can be loaded, else with the program lfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace {

struct Striping {
    uint64_t count = 0;  // servers; 0: the directory's default
    uint64_t bytes = 0;  // on one server before the next; 0: the directory's default
    bool operator==(const Striping&) const = default;
};

// st_blksize: the size of writes that the file system prefers.
uint64_t preferred_bytes_of(const std::string& directory);
bool is_on_lustre(const std::string& directory);
// Whether each node at once sees what another one has written: not with NFS, SMB, AFS, 9P, and what FUSE serves.
bool clients_share_cache(const std::string& directory);
// "liblustreapi", "lfs", or "" where neither is found.
std::string striping_tool();

// Makes a new, empty file; removes an existing one first. Throws UNSUPPORTED without a tool.
void create_striped(const std::string& path, const Striping& striping);
// The striping of a file, or of new files in a directory. Nothing without a tool, or where the file system has no striping.
std::optional<Striping> striping_of(const std::string& path);

}  // namespace tailrace
