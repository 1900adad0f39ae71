// A dimension: a name with a length, which may be another in each step.
#pragma once

#include <cstdint>
#include <string>

namespace tailrace {

struct Dimension {
    std::string name;
    uint64_t length = 0;
    bool ragged = false;  // another length in every step
    bool operator==(const Dimension& other) const {
        return name == other.name && ragged == other.ragged && (ragged || length == other.length);
    }
};

}  // namespace tailrace
