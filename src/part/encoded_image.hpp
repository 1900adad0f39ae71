// The metadata image, encoded by src/format. RATIONALE: microseconds where HDF5 takes milliseconds (decisions/0018).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "format/bytes.hpp"
#include "part/image_plan.hpp"

namespace tailrace {

// Nothing where HDF5 would make heaps and trees: an object has too many attributes for its header or one of 64 KiB, or there are
// too many arrays for the links of one header.
std::optional<Image> encoded_image(const ImagePlan& plan);

// The metadata of a file that grows, except for the trees of its chunks: encoded once, then placed at any address, for any number
// of steps and any trees.
struct EncodedHead {
    format::Bytes bytes;  // for the address 0, no steps and no trees
    uint64_t root = 0, extension = format::kUndefined;
    // Positions in `bytes`: of addresses within the head, of the number of steps, and for each array that has a tree that of its
    // root.
    std::vector<uint64_t> addresses, step_counts;
    struct Tree {
        size_t array;
        uint64_t root_at;
    };
    std::vector<Tree> trees;
    std::vector<format::Bytes::Range> summed;  // what has a checksum at its end
};

// `description` has unlimited time. Nothing where the head cannot be encoded, as above.
std::optional<EncodedHead> encoded_head(const Description& description, const std::vector<uint64_t>& places,
                                        uint64_t most_children);

}  // namespace tailrace
