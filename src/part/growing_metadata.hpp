// The metadata of a part that grows, on its first writer. Readers see exactly the steps that the superblock in force shows.
//
//   head   all objects of the file, with the number of steps; encoded once, then copied to a slot, moved and summed for each step
//   trees  where the chunks are. Those of uncompressed arrays hold all steps that are laid out: readers do not look beyond the
//          number of steps. Those of compressed arrays grow with each step.
//   slots  rooms for heads. A slot is used again ten seconds after the next head was made, and after several others: a reader has
//          read its head by then. Where steps come faster than slots become free, some heads go to a few private slots. Such a
//          version is not shown by itself; a later one shows its step, too.
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

// What shows a number of steps. The writes come first, in any order; the superblock puts them in force.
struct PartVersion {
    struct Write {
        uint64_t address = 0;
        format::ByteVector bytes;
    };
    uint64_t steps = 0;
    std::vector<Write> writes;  // the head is the last
    format::ByteVector superblock;
    uint64_t file_bytes = 0;   // the size that the file must have before the superblock is written
    uint64_t sized_ahead = 0;  // and the size that it gets now, for versions to come
    bool is_private = false;   // its head is overwritten soon: it is shown only where no further version follows
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

    // `end`: the file is free from there on. `steps_in_flight`: so many steps may be written before the first of them is published.
    GrowingMetadata(uint64_t end, uint64_t steps_in_flight) : end_(end), least_slots_(kLeastSlots + steps_in_flight) {}

    // The end of all rooms in the file.
    uint64_t end() const { return end_; }
    void extend_to(uint64_t end) { end_ = std::max(end_, end); }

    // The room in front of a block of so many steps, after which there are `laid_out` steps: nodes of trees, and slots. Cannot
    // fail: other ranks wait for the address that follows from it.
    uint64_t room_bytes(uint64_t laid_out, uint64_t steps, uint64_t block_bytes) const noexcept;
    // The description or the blocks have changed. Makes the head, and the nodes for all steps that are laid out. `room`: as above,
    // for the block that was added; none: rooms at the end.
    void set_content(const Content& content, std::optional<Extent> room);

    // A version may not have been written. The next one has all nodes anew, in other rooms. Needs set_content() first.
    void forget() noexcept;

    // Shows the first `steps` steps. `must_show`: never private.
    PartVersion version(const Content& content, uint64_t steps, bool must_show = false);
    // The same, where the part grows no more: its trees end with the last step. It lies at `address`, behind all that is kept.
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
    std::deque<Extent> private_;             // the same order
    double last_s_ = 0;                      // when a head was made last, other than private ones
    uint64_t all_slots_bytes_ = 0;
};

}  // namespace tailrace
