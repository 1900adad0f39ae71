#include "part/growing_metadata.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "format/messages.hpp"

namespace tailrace {
namespace {

// The most children of a node of a compressed array's tree. The nodes that are not full are written again with each step, so small
// nodes make fewer bytes. The tree of 20,000 steps has five levels.
constexpr uint64_t kChildrenWherePacked = 8;
// A new block gets a slot for each of its steps, if all slots together take at most these bytes, or a hundredth of the data.
constexpr uint64_t kSlotsBytes = 4u << 20, kDataPerSlotByte = 100;
constexpr double kReaderS = 10;          // after so many seconds, a reader has read its head
constexpr uint64_t kGrowthOfHead = 256;  // the list of blocks in it grows by 24 bytes with each block

uint64_t round_up(uint64_t value) { return (value + 7) / 8 * 8; }

// The address of a step. Looks in the last blocks first, which callers mostly want.
uint64_t address_of_step(const GrowingMetadata::Content& content, uint64_t step) {
    for (auto block = content.blocks.rbegin(); block != content.blocks.rend(); ++block)
        if (step >= block->first_step) return block->address + (step - block->first_step) * content.placement.step_pitch();
    return 0;
}

uint64_t laid_out_steps(const std::vector<StepBlock>& blocks) {
    return blocks.empty() ? 0 : blocks.back().first_step + blocks.back().steps;
}

std::vector<uint64_t> position(const ChunkShape& shape, uint64_t number, uint64_t a_step) {
    const Shape offset = shape.offset(number, a_step);
    return {offset.begin(), offset.end()};
}

void add_to(format::Bytes& bytes, uint64_t at, uint64_t more) {
    uint64_t value;
    std::memcpy(&value, bytes.all().data() + at, sizeof value);
    bytes.set(at, value + more);
}

}  // namespace

// The bytes of a head with so many steps. A slot is larger, so that it can be used for later heads.
uint64_t GrowingMetadata::head_bytes(uint64_t steps) const noexcept {
    if (!head_) return 0;
    uint64_t bytes = round_up(head_->bytes.size());
    for (const Tree& tree : trees_)
        if (tree.is_packed) bytes += tree.tree.open_bytes(steps * tree.chunks_a_step);
    return bytes;
}

// The most bytes that the nodes of uncompressed arrays need for so many steps.
uint64_t GrowingMetadata::node_bytes(uint64_t steps) const noexcept {
    uint64_t bytes = 0;
    for (const Tree& tree : trees_)
        if (!tree.is_packed)
            bytes += tree.tree.full_bytes(steps * tree.chunks_a_step) + tree.tree.open_bytes(steps * tree.chunks_a_step);
    return round_up(bytes);
}

uint64_t GrowingMetadata::room_bytes(uint64_t laid_out, uint64_t steps, uint64_t block_bytes) const noexcept {
    if (!head_) return 0;
    const uint64_t bytes = node_bytes(laid_out + steps);
    const uint64_t slot = head_bytes(laid_out + steps) + kGrowthOfHead;
    return bytes + slots_of_block(steps, slot, block_bytes) * slot;
}

uint64_t GrowingMetadata::slots_of_block(uint64_t steps, uint64_t slot, uint64_t block_bytes) const noexcept {
    const uint64_t left = kSlotsBytes > all_slots_bytes_ ? kSlotsBytes - all_slots_bytes_ : 0;
    return std::min(steps + 2, std::max(left, block_bytes / kDataPerSlotByte) / slot);
}

void GrowingMetadata::make_trees(const Content& content) {
    const bool packs =
        std::ranges::any_of(content.description.arrays, [](const Array& array) { return array.packing.has_value(); });
    const uint64_t most_children = packs ? kChildrenWherePacked : format::kMostChildren;
    const std::vector<uint64_t> places = places_of(content.description, content.placement);
    head_ = encoded_head(content.description, places, most_children);
    if (!head_ || trees_.size() == head_->trees.size()) return;
    trees_.clear();
    laid_out_ = 0;
    const ImagePlan plan{content.description, 0, 0, 0, {}, places, content.chunks};
    for (const EncodedHead::Tree& of : head_->trees) {
        const Array& array = content.description.arrays[of.array];
        ChunkShape shape = *chunk_shape_of(plan, of.array);
        const uint64_t a_step = shape.a_step(array, content.description);
        const size_t dims = shape.chunk.size();
        trees_.push_back({of.array, array.packing.has_value(), std::move(shape), a_step, {dims, most_children}});
    }
}

format::GrowingTree::ChunkOf GrowingMetadata::chunk_of(const Content& content, const Tree& tree) {
    if (tree.is_packed)
        return [&content, &tree](uint64_t number) -> format::ChunkEntry {
            const std::vector<Extent>& places = content.chunks[tree.array];
            return {number < places.size() ? places[number] : Extent{}, position(tree.shape, number, tree.chunks_a_step)};
        };
    const Array& array = content.description.arrays[tree.array];
    const uint64_t chunk_bytes = volume(tree.shape.chunk) * type_bytes(array.type);
    const uint64_t in_step = places_of(content.description, content.placement)[tree.array];
    return [&content, &tree, chunk_bytes, in_step](uint64_t number) -> format::ChunkEntry {
        const uint64_t step = number / tree.chunks_a_step, within = number % tree.chunks_a_step;
        return {{address_of_step(content, step) + in_step + within * chunk_bytes, chunk_bytes},
                position(tree.shape, number, tree.chunks_a_step)};
    };
}

format::Bytes GrowingMetadata::nodes_of_laid_out(const Content& content, uint64_t address) {
    format::Bytes nodes;
    uint64_t longest_node = 0;
    for (Tree& tree : trees_) {
        const uint64_t chunks = laid_out_ * tree.chunks_a_step;
        if (tree.is_packed || chunks == 0) continue;
        const auto at = chunk_of(content, tree);
        tree.tree.put_full_nodes(nodes, address, chunks, at);
        tree.root = tree.tree.put_open_nodes(nodes, address, chunks, at);
        longest_node = std::max(longest_node, tree.tree.node_bytes());
    }
    nodes.put_zeros(round_up(nodes.size() + longest_node) - nodes.size());  // readers read whole nodes
    return nodes;
}

void GrowingMetadata::set_content(const Content& content, std::optional<Extent> room) {
    make_trees(content);
    for (const StepBlock& block : content.blocks) extend_to(block_end(content.placement, block));
    if (!head_) return;
    uint64_t at = round_up(room ? room->address : end_);
    if (const uint64_t laid_out = laid_out_steps(content.blocks); laid_out != laid_out_) {
        laid_out_ = laid_out;
        // After forget() the extent may be too small for the nodes of all steps.
        if (room && node_bytes(laid_out_) > room->bytes) {
            room.reset();
            at = round_up(end_);
        }
        format::Bytes nodes = nodes_of_laid_out(content, at);
        const uint64_t address = std::exchange(at, at + nodes.size());
        if (nodes.size() > 0) nodes_.push_back({address, nodes.take()});
    }
    if (room && at <= room->address + room->bytes) {
        const uint64_t slot = head_bytes(laid_out_) + kGrowthOfHead;
        add_slots(at, slot, (room->address + room->bytes - at) / slot);
    }
    extend_to(at);
}

void GrowingMetadata::forget() noexcept {
    trees_.clear();
    nodes_.clear();
    unused_.clear();
    used_.clear();
    private_.clear();
    laid_out_ = 0;
}

void GrowingMetadata::add_slots(uint64_t address, uint64_t bytes, uint64_t count) {
    for (uint64_t k = count; k-- > 0;) unused_.push_back({address + k * bytes, bytes});
    all_slots_bytes_ += count * bytes;
}

void GrowingMetadata::add_slots_at_end(uint64_t bytes) {
    const uint64_t address = round_up(end_), each = round_up(bytes) + kGrowthOfHead;
    add_slots(address, each, least_slots_ + 1);
    end_ = address + (least_slots_ + 1) * each;
}

std::optional<Extent> GrowingMetadata::slot_to_reuse(uint64_t bytes) {
    while (used_.size() > least_slots_ && used_.front().room.bytes < bytes) used_.pop_front();
    if (used_.size() <= least_slots_ || seconds_now() - used_.front().until_s < kReaderS) return std::nullopt;
    const Extent room = used_.front().room;
    used_.pop_front();
    return room;
}

// Takes a slot for a head; nothing if heads are made too fast. The last quarter of the slots, and slots that are used again, are
// handed out evenly over the time until the first of them can be used again.
std::optional<Extent> GrowingMetadata::take_slot(uint64_t bytes) {
    while (!unused_.empty() && unused_.back().bytes < bytes) unused_.pop_back();
    if (unused_.empty() && used_.size() <= least_slots_) add_slots_at_end(bytes);
    const double now_s = seconds_now(), slots = static_cast<double>(used_.size() + unused_.size());
    const double since_s = now_s - last_s_;
    std::optional<Extent> slot;
    if (since_s * slots >= kReaderS) slot = slot_to_reuse(bytes);
    if (!slot && !unused_.empty() && (4.0 * static_cast<double>(unused_.size()) > slots || since_s * slots >= 4 * kReaderS)) {
        slot = unused_.back();
        unused_.pop_back();
    }
    if (!slot) return std::nullopt;
    if (!used_.empty()) used_.back().until_s = now_s;
    used_.push_back({*slot, std::numeric_limits<double>::infinity()});
    last_s_ = now_s;
    return slot;
}

Extent GrowingMetadata::take_private_slot(uint64_t bytes) {
    while (!private_.empty() && private_.front().bytes < bytes) private_.pop_front();
    if (private_.size() < least_slots_) {
        const uint64_t address = round_up(end_), each = round_up(bytes) + kGrowthOfHead;
        for (uint64_t k = 0; k < least_slots_; ++k) private_.push_back({address + k * each, each});
        end_ = address + least_slots_ * each;
    }
    private_.push_back(private_.front());
    private_.pop_front();
    return private_.back();
}

PartVersion GrowingMetadata::version(const Content& content, uint64_t steps, bool must_show) {
    if (!head_) return made_by_hdf5(content, steps, std::nullopt);
    // Full nodes of compressed arrays are kept for ever: they are placed at the end.
    format::Bytes full;
    const uint64_t full_at = round_up(end_);
    for (Tree& tree : trees_)
        if (tree.is_packed) tree.tree.put_full_nodes(full, full_at, steps * tree.chunks_a_step, chunk_of(content, tree));
    if (full.size() > 0) {
        end_ = full_at + round_up(full.size());
        nodes_.push_back({full_at, full.take()});
    }
    std::optional<Extent> slot = take_slot(head_bytes(steps));
    if (!slot && must_show) {
        last_s_ = 0;
        add_slots_at_end(head_bytes(steps));
        slot = take_slot(head_bytes(steps));
    }
    if (slot) return finish(content, steps, slot->address, false);
    PartVersion version = finish(content, steps, take_private_slot(head_bytes(steps)).address, false);
    version.is_private = true;
    return version;
}

PartVersion GrowingMetadata::last_version(const Content& content, uint64_t steps, uint64_t address) {
    make_trees(content);
    if (!head_) return made_by_hdf5(content, steps, address);
    // After forget() all full nodes are written again.
    format::Bytes full;
    const uint64_t full_at = round_up(address);
    for (Tree& tree : trees_) tree.tree.put_full_nodes(full, full_at, steps * tree.chunks_a_step, chunk_of(content, tree));
    const uint64_t head_at = full_at + round_up(full.size());
    if (full.size() > 0) nodes_.push_back({full_at, full.take()});
    return finish(content, steps, head_at, true);
}

// Completes a version: the open nodes of the trees, and the head for so many steps. `is_last`: all trees end with these steps.
PartVersion GrowingMetadata::finish(const Content& content, uint64_t steps, uint64_t address, bool is_last) {
    format::Bytes head = head_->bytes;
    head.put_zeros(round_up(head.size()) - head.size());
    uint64_t longest_node = 0;
    for (size_t t = 0; t < trees_.size(); ++t) {
        const Tree& tree = trees_[t];
        uint64_t root = tree.root;
        if (tree.is_packed || is_last) {
            root = tree.tree.put_open_nodes(head, address, steps * tree.chunks_a_step, chunk_of(content, tree));
            longest_node = std::max(longest_node, tree.tree.node_bytes());
        }
        head.set(head_->trees[t].root_at, root);
    }
    head.put_zeros(longest_node);
    for (const uint64_t at : head_->addresses) add_to(head, at, address);
    for (const uint64_t at : head_->step_counts) head.set(at, steps);
    head.set_checksums(head_->summed);

    PartVersion version{.steps = steps, .writes = std::exchange(nodes_, {}), .superblock = {}};
    const uint64_t end_of_head = address + head.size();
    version.file_bytes = is_last ? end_of_head : std::max(end_, end_of_head);
    const uint64_t extension = head_->extension == format::kUndefined ? format::kUndefined : address + head_->extension;
    version.superblock = format::superblock(address + head_->root, extension, version.file_bytes).take();
    version.writes.push_back({address, head.take()});
    return version;
}

// Makes a version whose metadata HDF5 makes whole. It is placed in a slot of an earlier version if it fits.
PartVersion GrowingMetadata::made_by_hdf5(const Content& content, uint64_t steps, std::optional<uint64_t> address) {
    const auto made_at = [&](uint64_t at) {
        return make_image(content.description, content.placement, content.blocks, steps, at, content.chunks);
    };
    const std::optional<Extent> room = address || used_.empty() ? std::nullopt : slot_to_reuse(used_.back().room.bytes);
    Image image = made_at(round_up(address ? *address : room ? room->address : end_));
    if (room && image.metadata.size() > room->bytes) image = made_at(round_up(end_));
    if (!used_.empty()) used_.back().until_s = seconds_now();
    used_.push_back({{image.metadata_address,
                      std::max(image.metadata.size(), room && room->address == image.metadata_address ? room->bytes : 0)},
                     std::numeric_limits<double>::infinity()});
    extend_to(image.file_bytes);
    PartVersion version{.steps = steps, .writes = {}, .superblock = std::move(image.superblock), .file_bytes = image.file_bytes};
    version.writes.push_back({image.metadata_address, std::move(image.metadata)});
    return version;
}

}  // namespace tailrace
