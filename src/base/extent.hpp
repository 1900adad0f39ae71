// A contiguous range of bytes of a file.
#pragma once

#include <cstdint>

namespace tailrace {

struct Extent {
    uint64_t address = 0, bytes = 0;
    bool operator==(const Extent&) const = default;
};

}  // namespace tailrace
