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
    // Throws CORRUPT if bytes of `box` of the array do not match their stored checksum, and UNSUPPORTED if the part has no
    // checksums. `step`: the step's number in the part, or kSealOfStatic. Each checksum record is compared only once.
    void check(const StoredArray& array, const Box& box, uint64_t step);
    // Forgets which bytes were compared: call it when parts were closed or have changed.
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
