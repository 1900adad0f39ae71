// The metadata image, encoded by src/format. RATIONALE: microseconds where HDF5 takes milliseconds (decisions/0018).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "format/bytes.hpp"
#include "part/image_plan.hpp"

namespace tailrace {

// Encodes the image. Returns nothing for files that need other structures of HDF5. In such a file, an object has too many
// attributes for its header or an attribute of 64 KiB, or there are too many arrays for the links of one header.
std::optional<Image> encoded_image(const ImagePlan& plan);

// The metadata of a file that grows, except for the trees of its chunks: encoded once, then placed at any address, for any number
// of steps and any trees.
struct EncodedHead {
    format::Bytes bytes;  // for the address 0, no steps and no trees
    uint64_t root = 0, extension = format::kUndefined;
    // Positions in `bytes`: of the addresses within the head; of the number of steps; in `trees`, of the address of a tree's root.
    std::vector<uint64_t> addresses, step_counts;
    struct Tree {
        size_t array;
        uint64_t root_at;
    };
    std::vector<Tree> trees;
    std::vector<format::Bytes::Range> summed;  // ranges with a checksum at their end
};

// Encodes the head of a file. `description` has unlimited time. Returns nothing in the cases of encoded_image().
std::optional<EncodedHead> encoded_head(const Description& description, const std::vector<uint64_t>& places,
                                        uint64_t most_children);

}  // namespace tailrace
