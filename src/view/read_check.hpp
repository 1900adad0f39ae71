// Compares what a reader is about to read with the checksums that its writers stored in the parts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "layout/box.hpp"
#include "part/part_reader.hpp"
#include "part/seal.hpp"

namespace tailrace {

class ReadCheck {
public:
    // Throws CORRUPT where bytes of `box` of the array do not have the checksum that they were written with, and UNSUPPORTED where
    // the part has no checksums. `step`: the step's number in the part, or kSealOfStatic. A writer's run of bytes is compared once.
    void check(const StoredArray& array, const Box& box, uint64_t step);
    // Of parts that are read no more, or that have changed.
    void forget() {
        maps_.clear();
        unchecked_.clear();
    }

private:
    std::vector<SealRecord>& unchecked(const File& file, uint64_t step);

    std::map<std::string, SealMap> maps_;
    std::map<std::pair<std::string, uint64_t>, std::vector<SealRecord>> unchecked_;  // by path and step
};

}  // namespace tailrace
