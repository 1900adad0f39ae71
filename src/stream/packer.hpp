// Compression of a step. All ranks of a part compress, whoever writes: each has an equal share of the chunks of every large array,
// and what it makes of them is one run of bytes of the part. Where the run begins is known once all ranks know their sizes.
#pragma once

#include <functional>
#include <vector>

#include "gather/communicator.hpp"
#include "layout/block_view.hpp"
#include "layout/parts.hpp"
#include "layout/placement.hpp"
#include "part/image.hpp"

namespace tailrace {

struct PackedArray {
    Type type = Type::F64;
    Packing packing;
    Rounding rounding;
};

class Packer {
public:
    // `ranks`: those of the part; null where it has only this one. `writers`: of them.
    Packer(const Communicator* ranks, const PartWriters& writers, std::vector<PackedArray> arrays);

    // Local. A step begins; then its elements in ascending order of (array, element), only those of this rank's chunks.
    void begin() { bytes_.clear(); }
    void take(size_t array, uint64_t element, const std::byte* data, uint64_t bytes);
    void take(size_t array, const BlockView& whole);
    // Local. What was taken counts for nothing: the step will fail.
    void give_up();

    // Collective over the part's ranks. `end`: of all that is in the part, known on its first rank. The runs begin behind it, in
    // the order of the ranks. The first rank learns the places of all chunks, by array.
    struct Run {
        uint64_t address = 0;
        ChunkPlaces chunks;
        bool whole = true;  // false on the first rank where a rank gave up: it says why by itself
    };
    Run place(uint64_t end, const Placement& placement);
    // Collective over the part's ranks. On writers write(address, data, bytes) is called for the runs of the ranks that it writes
    // for, in ascending order; the data is there until it returns. What it throws is kept until all runs have arrived.
    void hand_over(uint64_t address, const std::function<void(uint64_t, const std::byte*, uint64_t)>& write);

private:
    struct Share {
        uint64_t first = 0, last = 0;  // chunks
    };
    Share share_of_rank(size_t array, uint64_t rank) const;
    uint64_t rank() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
    uint64_t size() const { return ranks_ == nullptr ? 1 : ranks_->size(); }
    std::span<std::byte> chunk_being_filled(size_t array);
    void encode_filled(size_t array, uint64_t chunk, std::span<std::byte> bytes, uint64_t filled);
    void encode(size_t array, uint64_t chunk, std::span<const std::byte> bytes);

    const Communicator* ranks_;
    const PartWriters writers_;
    const std::vector<PackedArray> arrays_;
    std::vector<uint64_t> first_size_;  // of each array: where its chunks begin in sizes_
    Codec codec_;
    std::vector<std::byte> chunk_, rounded_, bytes_, received_;
    std::vector<uint64_t> sizes_;       // of this rank's chunks, stored
    std::vector<int> counts_, begins_;  // on the first rank: of the sizes of each rank, one rank after the other
};

}  // namespace tailrace
