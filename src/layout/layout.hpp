// The layout: the one record of how a step's data reaches storage. Seven independent choices; presets are points among them.
#pragma once

#include <cstdint>
#include <string>

namespace tailrace {

// How many parts a step has.
struct Files {
    enum class Kind { one, per_node, per_rank, number } kind = Kind::one;
    uint64_t number = 0;  // for Kind::number
    bool operator==(const Files&) const = default;
};

// Which ranks write each part.
struct Writers {
    enum class Kind { one, per_node, all, dedicated } kind = Kind::one;
    uint64_t number = 0;   // for Kind::dedicated: ranks that only write
    uint64_t at_most = 0;  // most writers of a part that an earlier run began, since its room for checksums is fixed; 0: no limit
    bool operator==(const Writers&) const = default;
};

enum class Stage { none, scratch };
enum class Durability { none, close, step };

// How large arrays are compressed before they are written: filters of HDF5, which readers undo.
struct Compression {
    enum class Kind { none, deflate, zstd } kind = Kind::none;
    uint64_t level = 0;
    bool operator==(const Compression&) const = default;
};

// How bytes are placed in a file, and when they are on the device.
struct Storage {
    uint64_t stripe_count = 0;        // 0: the directory's default
    uint64_t stripe_bytes = 0;        // 0: the directory's default
    uint64_t alignment_bytes = 4096;  // extents of at least align_threshold_bytes begin at a multiple of it
    uint64_t align_threshold_bytes = 65536;
    Compression compression = {};
    bool shuffle = true;       // with compression: the first bytes of all elements come first, then the second bytes, ...
    uint64_t chunk_bytes = 0;  // of compressed arrays; 0: kChunkBytes
    uint64_t bit_round = 0;    // with compression: bits of a float's mantissa that are kept; 0: all
    Durability durability = Durability::none;
    bool checksum = true;
    bool operator==(const Storage&) const = default;
};

struct Layout {
    static constexpr uint64_t kAllSteps = 0;

    Files files = {};
    Writers writers = {};
    uint64_t steps = 1;         // output steps in each file; kAllSteps: appended along time without bound
    uint64_t tree_entries = 0;  // most entries in a directory (at least 8); 0: flat
    Stage stage = Stage::none;
    uint64_t overlap_steps = 0;
    Storage storage = {};
    bool operator==(const Layout&) const = default;

    // Each rank writes only its own file, and all files are in one directory: no rank needs another one to write.
    bool ranks_are_apart() const { return files.kind == Files::Kind::per_rank && tree_entries == 0; }
    // The part itself is the dataset that people open; there is no index.
    bool part_is_dataset() const { return files.kind == Files::Kind::one && steps == kAllSteps; }
};

}  // namespace tailrace
