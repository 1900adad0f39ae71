// Which part a rank's data goes to, which ranks write it, and its path: arithmetic on ranks, nodes and the layout.
#pragma once

#include <cstdint>
#include <string>

#include "layout/layout.hpp"
#include "layout/topology.hpp"

namespace tailrace {

class PartMap {
public:
    PartMap(const Layout& layout, const Topology& topology) : layout_(layout), topology_(topology) {}

    uint64_t parts() const;
    uint64_t part_of(uint64_t rank) const;
    // The ranks whose data is in a part: [first, last).
    uint64_t first_rank(uint64_t part) const;
    uint64_t last_rank(uint64_t part) const { return first_rank(part + 1); }
    // The ranks that write it.
    uint64_t writers(uint64_t part) const;
    uint64_t writer(uint64_t part, uint64_t k) const;
    // The number of a rank among the writers of its part; writers(part) for a rank that does not write.
    uint64_t writer_number(uint64_t part, uint64_t rank) const;

private:
    Layout layout_;
    Topology topology_;
};

// The writers of one part, as ranks counted from `first_rank` on, ascending.
struct PartWriters {
    PartMap map;
    uint64_t part = 0, first_rank = 0;

    uint64_t count() const { return map.writers(part); }
    uint64_t rank(uint64_t k) const { return map.writer(part, k) - first_rank; }
    // count() for a rank that does not write.
    uint64_t number(uint64_t rank) const { return map.writer_number(part, first_rank + rank); }
};

// Paths of a stream's files, relative to the stream's directory. `start` is the first step of the group of steps in the part.
// `segment`: the number of the run's journal segment, if its files have the number in their names, since an earlier run may still
// write; else 0. `run`: the number of the run that writes what is not committed yet.
std::string dataset_path(const std::string& stream);     // NAME.nc: the index, or the part that is the dataset
std::string parts_directory(const std::string& stream);  // NAME.parts
std::string journal_path(const std::string& stream);
// The path of a group of steps: a directory, or a file where files = one.
std::string group_path(const Layout& layout, const std::string& stream, uint64_t start, uint64_t segment = 0);
constexpr const char* kPendingPrefix = ".pending-";  // of files and directories in NAME.parts that are not committed
// The path of a group of steps before it is committed.
std::string pending_path(const Layout& layout, const std::string& stream, uint64_t start, uint64_t run = 0);
std::string pending_index_path(const std::string& stream, uint64_t run = 0);
// The number of a run in the name of pending_path(), and of a segment in that of group_path(); 0: the name has none.
uint64_t run_of_pending(const std::string& name);
uint64_t segment_of_group(const std::string& name);
// A part's path below its group's directory (several files): [PPP/]NAME.S.P.nc
std::string part_path_in_group(const Layout& layout, const std::string& stream, uint64_t start, uint64_t part);
std::string part_path(const Layout& layout, const std::string& stream, uint64_t start, uint64_t part, uint64_t segment = 0);

bool has_one_part(const Layout& layout);

}  // namespace tailrace
