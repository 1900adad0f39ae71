// One file, link or folder on its way from scratch to the target.
#pragma once

#include <string>

#include "stage/descriptor.hpp"

namespace tailrace {

enum class ItemKind : uint8_t { file, symbolic_link, hard_link, folder };

// A copy at the target that was made before: it has the bytes, and the attributes where those of the file have not changed since.
enum class EarlyUse : uint8_t { none, as_it_is, with_attributes };

struct Item {
    std::string path;  // below the folder of files, and below the target
    ItemKind kind = ItemKind::file;
    Identity identity;
    Descriptor file;         // of a file: open for reading, under a lease where the file system has them
    std::string link;        // what a symbolic link says; the path of a hard link's first name
    uint64_t sum = 0;        // XXH3 of the bytes
    std::string early_path;  // of a copy that was made while the program ran
    EarlyUse early_use = EarlyUse::none;
    bool is_set_aside = false;
    bool is_torn = false;  // a process was killed that had it open for writing

    // Its path at the target. What may be the half of a file does not get the file's name.
    std::string target_path() const { return is_torn ? path + ".torn" : path; }
};

}  // namespace tailrace
