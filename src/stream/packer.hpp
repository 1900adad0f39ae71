// Compression of a step. All ranks of a part compress, also those that do not write. Each compresses an equal slab of the chunks of
// every large array, to bytes that are contiguous in the part. The address of these bytes is known once the sizes of all ranks are
// known (docs/decisions/0015).
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
    // `ranks`: the ranks of the part; null where it has only this one. `writers`: those of them that write.
    Packer(const Communicator* ranks, const PartWriters& writers, std::vector<PackedArray> arrays);

    // Local. Begins a step.
    void begin() { bytes_.clear(); }
    // Local. Takes elements of this rank's chunks, in ascending order of (array, element).
    void take(size_t array, uint64_t element, const std::byte* data, uint64_t bytes);
    void take(size_t array, const BlockView& whole);
    // Local. Discards what was taken, because the step will fail.
    void give_up();

    // Collective over the part's ranks. Places the ranks' bytes one after the other from file address `end` on, in the order of the
    // ranks. `end`: the address behind all that is in the part, known on its first rank. The first rank gets the places of all
    // chunks, by array.
    struct Placed {
        uint64_t address = 0;  // of this rank's bytes
        ChunkPlaces chunks;
        bool complete = true;  // false on the first rank if any rank gave up; that rank reports the error
    };
    Placed place(uint64_t end, const Placement& placement);
    // Collective over the part's ranks. Sends each rank's bytes to its writer. The writer calls write(address, data, bytes) for
    // each rank that it writes for, in ascending order; the data is valid during the call. If `write` throws, the error is rethrown
    // once all bytes have arrived.
    void hand_over(uint64_t address, const std::function<void(uint64_t, const std::byte*, uint64_t)>& write);

private:
    struct ChunkRange {
        uint64_t first = 0, last = 0;  // [first, last)
    };
    ChunkRange chunks_of_rank(size_t array, uint64_t rank) const;
    uint64_t rank() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
    uint64_t size() const { return ranks_ == nullptr ? 1 : ranks_->size(); }
    std::span<std::byte> chunk_being_filled(size_t array);
    void encode_filled(size_t array, uint64_t chunk, std::span<std::byte> bytes, uint64_t filled);
    void encode(size_t array, uint64_t chunk, std::span<const std::byte> bytes);

    const Communicator* ranks_;
    const PartWriters writers_;
    const std::vector<PackedArray> arrays_;
    std::vector<uint64_t> first_size_;  // for each array: the index in sizes_ of its first chunk
    Codec codec_;
    std::vector<std::byte> chunk_, rounded_, bytes_, received_;
    std::vector<uint64_t> sizes_;       // compressed sizes of this rank's chunks, in bytes
    std::vector<int> counts_, begins_;  // on the first rank, for MPI_Gatherv: how many sizes each rank has, and where they go
};

}  // namespace tailrace
