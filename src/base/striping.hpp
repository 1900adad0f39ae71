// Properties of a directory's file system, and striping. Striping is how Lustre spreads a file over storage servers. It is fixed
// when the file is created. Tailrace sets it with liblustreapi if that can be loaded, else with the program lfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace {

struct Striping {
    uint64_t count = 0;  // storage servers; 0: the directory's default
    uint64_t bytes = 0;  // consecutive bytes on one server before the next server; 0: the directory's default
    bool operator==(const Striping&) const = default;
};

// st_blksize: the size of writes that the file system prefers.
uint64_t preferred_bytes_of(const std::string& directory);
bool is_on_lustre(const std::string& directory);
// Whether each node sees at once what another node has written. False for NFS, SMB, AFS, 9P and FUSE.
bool clients_share_cache(const std::string& directory);
// "liblustreapi", "lfs", or "" where neither is found.
std::string striping_tool();

// Makes a new, empty file; removes an existing one first. Throws UNSUPPORTED if there is no striping tool.
void create_striped(const std::string& path, const Striping& striping);
// The striping of a file, or of new files in a directory. Nothing if there is no tool or the file system has no striping.
std::optional<Striping> striping_of(const std::string& path);

}  // namespace tailrace
