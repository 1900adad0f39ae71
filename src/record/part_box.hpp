// A box of a variable and the part that stores it. Streams of several parts list these boxes in the plan lines of the journal.
#pragma once

#include <cstdint>

#include "layout/box.hpp"

namespace tailrace {

struct PartBox {
    uint64_t part = 0, block = 0;  // block: its number among the boxes of the variable in that part
    Box box;
    bool operator==(const PartBox&) const = default;
};

// The most parts of one index file. With more, virtual datasets are slow (40 times slower at 1024, measured), so NAME.nc of more
// parts is an index of index files.
constexpr uint64_t kMaxIndexParts = 256;

}  // namespace tailrace
