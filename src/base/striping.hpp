// What the file system of a directory prefers, and striping: Lustre spreads a file over storage servers as it was told when the
// file was created, never later. Tailrace tells it through liblustreapi where that can be loaded, else through the program lfs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tailrace {

struct Striping {
    uint64_t count = 0;  // servers; 0: as the directory has it
    uint64_t bytes = 0;  // on one server before the next; 0: as the directory has it
    bool operator==(const Striping&) const = default;
};

// st_blksize: the size of writes that the file system prefers.
uint64_t preferred_bytes_of(const std::string& directory);
bool is_on_lustre(const std::string& directory);
// "liblustreapi", "lfs", or "" where neither is there.
std::string striping_tool();

// A new, empty file; one that is there is removed first. Without a tool: UNSUPPORTED.
void create_striped(const std::string& path, const Striping& striping);
// Of a file, or what a directory gives its new files; none without a tool, or where the file system has none.
std::optional<Striping> striping_of(const std::string& path);

}  // namespace tailrace
