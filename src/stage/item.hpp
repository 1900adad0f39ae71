// One file, link or folder on its way from scratch to the target.
#pragma once

#include <string>

#include "stage/descriptor.hpp"

namespace tailrace {

enum class ItemKind : uint8_t { file, symbolic_link, hard_link, folder };

// How an earlier copy at the target is used: not at all, as it is, or after its attributes are set, which have changed since.
enum class EarlyUse : uint8_t { none, as_it_is, with_attributes };

struct Item {
    std::string path;  // relative to the scratch folder, and to the target
    ItemKind kind = ItemKind::file;
    Identity identity;
    Descriptor file;         // if the item is a file: open for reading, under a lease if the file system has leases
    std::string link;        // the target of a symbolic link; the path of a hard link's first name
    uint64_t sum = 0;        // XXH3 of the bytes
    std::string early_path;  // path of a copy that was made while the program ran; empty: none
    EarlyUse early_use = EarlyUse::none;
    bool is_set_aside = false;
    bool is_torn = false;  // a process that had the file open for writing was killed

    // The item's path at the target. A file that may be incomplete gets the suffix .torn.
    std::string target_path() const { return is_torn ? path + ".torn" : path; }
};

}  // namespace tailrace
