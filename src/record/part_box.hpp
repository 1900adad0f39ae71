// A box of a variable and the part that stores it. A plan line of the journal lists them, where there are several parts, and few
// enough for an index.
#pragma once

#include <cstdint>

#include "layout/box.hpp"

namespace tailrace {

struct PartBox {
    uint64_t part = 0, block = 0;  // block: its number among the boxes of the variable in that part
    Box box;
    bool operator==(const PartBox&) const = default;
};

// More sources make a virtual dataset slow (40 times at 1024; measured) and exhaust descriptors.
constexpr uint64_t kMaxIndexParts = 256;

}  // namespace tailrace
