// The metadata of a part that grows, on its first writer. Readers see exactly the steps that the superblock in force shows.
//
//   head   all objects of the file, with the number of steps. It is encoded once. For each step it is copied to a slot, and its
//          addresses and checksums are set.
//   trees  where the chunks are. Trees of uncompressed arrays hold all steps that are laid out: readers do not look beyond the
//          number of steps. Trees of compressed arrays grow with each step.
//   slots  rooms for heads. A slot is used again ten seconds after the next head was made, and after several others: a reader has
//          read its head by then. If steps are faster than slots become free, some heads go to a few private slots. Such a version
//          is not published; a later version shows its step, too.
//
// A step is published by 48 bytes: the superblock that points to its head. Computes bytes and addresses; writes nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "format/growing_tree.hpp"
#include "layout/placement.hpp"
#include "part/encoded_chunks.hpp"
#include "part/encoded_image.hpp"
#include "part/image.hpp"

namespace tailrace {

// The bytes that make readers see a number of steps. The writes are done first, in any order; then the superblock puts them in
// force.
struct PartVersion {
    struct Write {
        uint64_t address = 0;
        format::ByteVector bytes;
    };
    uint64_t steps = 0;
    std::vector<Write> writes;  // the last one is the head
    format::ByteVector superblock;
    uint64_t file_bytes = 0;   // the size that the file must have before the superblock is written
    uint64_t sized_ahead = 0;  // the size that the file gets now, with room for later versions
    bool is_private = false;   // its head is overwritten soon: it is published only if no further version follows
};

class GrowingMetadata {
public:
    // What the part holds. `chunks`: of its compressed arrays.
    struct Content {
        const Description& description;  // with unlimited time
        const Placement& placement;
        const std::vector<StepBlock>& blocks;
        const ChunkPlaces& chunks;
    };

    // `end`: the address from which the file is free. `steps_in_flight`: the most steps that are written but not published.
    GrowingMetadata(uint64_t end, uint64_t steps_in_flight) : end_(end), least_slots_(kLeastSlots + steps_in_flight) {}

    // The end of all rooms in the file.
    uint64_t end() const { return end_; }
    void extend_to(uint64_t end) { end_ = std::max(end_, end); }

    // The bytes of nodes and slots in front of a new block of `steps` steps, after which `laid_out` steps are laid out. Cannot
    // fail: other ranks wait for the block's address.
    uint64_t room_bytes(uint64_t laid_out, uint64_t steps, uint64_t block_bytes) const noexcept;
    // Call it when the description or the blocks have changed. Makes the head, and the nodes for all steps that are laid out.
    // `room`: the extent of room_bytes() in front of the new block; none: nodes and slots are placed at the end.
    void set_content(const Content& content, std::optional<Extent> room);

    // Call it when a version may not have been written. The next version then writes all nodes again, at other addresses. Call
    // set_content() before that version.
    void forget() noexcept;

    // Makes the version that shows the first `steps` steps. `must_show`: it is never private.
    PartVersion version(const Content& content, uint64_t steps, bool must_show = false);
    // Makes the version of a part that grows no more: its trees end with the last step. It is placed at `address`, behind all that
    // is kept.
    PartVersion last_version(const Content& content, uint64_t steps, uint64_t address);

private:
    static constexpr uint64_t kLeastSlots = 4;

    struct UsedSlot {
        Extent room;
        double until_s = 0;  // when the next head was made
    };

    // The chunks of an array, and the tree over them.
    struct Tree {
        size_t array = 0;
        bool is_packed = false;
        ChunkShape shape;
        uint64_t chunks_a_step = 0;
        format::GrowingTree tree;
        uint64_t root = format::kUndefined;  // not packed: over all steps that are laid out
    };

    void make_trees(const Content& content);
    static format::GrowingTree::ChunkOf chunk_of(const Content& content, const Tree& tree);
    uint64_t node_bytes(uint64_t steps) const noexcept;
    uint64_t head_bytes(uint64_t steps) const noexcept;
    uint64_t slots_of_block(uint64_t steps, uint64_t slot, uint64_t block_bytes) const noexcept;
    format::Bytes nodes_of_laid_out(const Content& content, uint64_t address);
    void add_slots(uint64_t address, uint64_t bytes, uint64_t count);
    void add_slots_at_end(uint64_t bytes);
    std::optional<Extent> slot_to_reuse(uint64_t bytes);
    std::optional<Extent> take_slot(uint64_t bytes);
    Extent take_private_slot(uint64_t bytes);
    PartVersion finish(const Content& content, uint64_t steps, uint64_t address, bool is_last);
    PartVersion made_by_hdf5(const Content& content, uint64_t steps, std::optional<uint64_t> address);

    uint64_t end_;
    const uint64_t least_slots_;
    std::optional<EncodedHead> head_;  // none: it cannot be encoded, and HDF5 makes all metadata of each version
    std::vector<Tree> trees_;
    uint64_t laid_out_ = 0;                  // steps that the trees of uncompressed arrays hold
    std::vector<PartVersion::Write> nodes_;  // written with the next version
    std::vector<Extent> unused_;             // slots; the next one is the last
    std::deque<UsedSlot> used_;              // the one that was used longest ago comes first
    std::deque<Extent> private_;             // private slots; the one that was used longest ago comes first
    double last_s_ = 0;                      // when a head was made last, other than private ones
    uint64_t all_slots_bytes_ = 0;
};

}  // namespace tailrace
