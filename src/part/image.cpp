#include "part/image.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "part/encoded_image.hpp"
#include "part/hdf5_image.hpp"

namespace tailrace {
namespace {

std::vector<uint64_t> step_addresses(const Description& description, const Placement& placement,
                                     const std::vector<StepBlock>& blocks, uint64_t steps) {
    std::vector<uint64_t> addresses;
    for (const StepBlock& block : blocks)
        for (uint64_t s = 0; s < block.steps && addresses.size() < steps; ++s)
            addresses.push_back(block.address + s * placement.step_pitch());
    for (const Array& array : description.arrays)
        if (array.is_placed() && array.varies && addresses.size() < steps)
            fail(Status::INTERNAL, "only ", addresses.size(), " of ", steps, " steps are laid out");
    return addresses;
}

// The end of all space that the placement has assigned, so that tools which append do not use it.
uint64_t reserved_end(const Placement& placement, const std::vector<StepBlock>& blocks) {
    uint64_t end =
        placement.bytes().static_bytes.empty() ? kSuperblockBytes : placement.static_seal() + placement.bytes().seal_bytes;
    for (const StepBlock& block : blocks) end = std::max(end, block_end(placement, block));
    return end;
}

void check_free(const Image& image, const Placement& placement, const std::vector<StepBlock>& blocks, const ChunkPlaces& chunks) {
    const uint64_t first = image.metadata_address, last = first + image.metadata.size();
    for (const StepBlock& block : blocks)
        if (first < block_end(placement, block) && block.address < last)
            fail(Status::INTERNAL, "metadata at ", first, " to ", last, " lies in the steps at ", block.address);
    if (!placement.bytes().static_bytes.empty() && first < placement.static_seal() + placement.bytes().seal_bytes)
        fail(Status::INTERNAL, "metadata at ", first, " lies in the static arrays");
    for (const std::vector<Extent>& of_array : chunks)
        for (const Extent& chunk : of_array)
            if (first < chunk.address + chunk.bytes && chunk.address < last)
                fail(Status::INTERNAL, "metadata at ", first, " lies in the chunk at ", chunk.address);
}

}  // namespace

PartBytes part_bytes(const Description& description, uint64_t seal_bytes) {
    PartBytes bytes;
    bytes.seal_bytes = seal_bytes;
    for (const Array& array : description.arrays) {
        if (!array.is_placed()) continue;
        (array.varies ? bytes.step_bytes : bytes.static_bytes).push_back(bytes_of(description, array));
    }
    return bytes;
}

std::vector<uint64_t> places_of(const Description& description, const Placement& placement) {
    std::vector<uint64_t> result(description.arrays.size(), 0);
    size_t fixed = 0, varying = 0;
    for (size_t i = 0; i < result.size(); ++i) {
        const Array& array = description.arrays[i];
        if (!array.is_placed()) continue;
        const auto& places = array.varies ? placement.step_offsets() : placement.static_addresses();
        const auto& sizes = array.varies ? placement.bytes().step_bytes : placement.bytes().static_bytes;
        size_t& next = array.varies ? varying : fixed;
        if (next == places.size() || sizes[next] != bytes_of(description, array))
            fail(Status::INTERNAL, "the placement is of other arrays: '", array.name, "' has ", bytes_of(description, array),
                 " bytes");
        result[i] = places[next++];
    }
    return result;
}

Image make_image(const Description& description, const Placement& placement, const std::vector<StepBlock>& blocks, uint64_t steps,
                 uint64_t metadata_address, const ChunkPlaces& chunks) {
    check(description);
    const ImagePlan plan{description,
                         steps,
                         metadata_address,
                         reserved_end(placement, blocks),
                         step_addresses(description, placement, blocks, steps),
                         places_of(description, placement),
                         chunks};
    plan.check_sources();
    std::optional<Image> encoded = encoded_image(plan);
    Image image = encoded ? std::move(*encoded) : hdf5_image(plan);
    check_free(image, placement, blocks, chunks);
    return image;
}

void put_in_force(File& out, const Image& image) {
    out.write_at(image.metadata_address, image.metadata.data(), image.metadata.size());
    if (out.size_bytes() != image.file_bytes) out.set_size(image.file_bytes);
    out.write_at(0, image.superblock.data(), image.superblock.size());
}

}  // namespace tailrace
