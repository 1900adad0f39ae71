#include "stream/part_space.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.hpp"
#include "part/seal.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kLargestBlockSteps = 1024;

}  // namespace

void PartSpace::set_content(std::shared_ptr<DescribedPart> part) {
    part_ = std::move(part);
    metadata_ = Metadata::outdated;
}

// The first block has one step, so it is full when the part is closed; its metadata follows it. The metadata of other blocks
// precedes them, so that steps which are laid out and never written can be cut off.
StepBlock PartSpace::next_block() const {
    const uint64_t laid_out = laid_out_steps();
    StepBlock block{laid_out, 1, content().placement.static_end()};
    if (!has_several_steps() || laid_out == 0) return block;
    block.steps = std::min(capacity_steps() - laid_out, std::min(laid_out, kLargestBlockSteps));
    const uint64_t pitch = content().placement.step_pitch();
    const uint64_t room = growing_ ? growing_->room_bytes(laid_out, block.steps, block.steps * pitch) : 0;
    block.address = content().placement.align(end() + room, pitch);
    return block;
}

void PartSpace::add(const StepBlock& block) {
    room_.reset();
    if (growing_ && block.first_step > 0 && block.address > end()) room_ = Extent{end(), block.address - end()};
    blocks_.push_back(block);
    metadata_ = Metadata::outdated;
}

void PartSpace::continue_from(const std::vector<StepBlock>& blocks, uint64_t steps, uint64_t file_bytes) {
    for (StepBlock block : blocks) {
        if (block.first_step >= steps) break;
        block.steps = std::min(block.steps, steps - block.first_step);
        blocks_.push_back(block);
    }
    mark_blocks_known();
    ahead_.continue_part();
    growing_.emplace(file_bytes, layout_.overlap_steps);
}

uint64_t PartSpace::array_address(size_t array, uint64_t step) const {
    return content().description.arrays[array].varies ? step_begin(step) + content().step_offset(array)
                                                      : content().static_address(array);
}

uint64_t PartSpace::end() const { return blocks_.empty() ? 0 : std::max(end_of_metadata(), end_of_last_block()); }

void PartSpace::keep_chunks_of(uint64_t steps) {
    chunks_.resize(content().arrays.size());
    for (const size_t a : content().packed) chunks_[a].resize(steps * content().description.arrays[a].packing->grid.count());
}

void PartSpace::place_chunks(const ChunkPlaces& chunks, uint64_t step) {
    keep_chunks_of(step);
    uint64_t chunks_end = end();
    for (size_t k = 0; k < content().packed.size(); ++k) {
        std::ranges::copy(chunks[k], std::back_inserter(chunks_[content().packed[k]]));
        for (const Extent& chunk : chunks[k]) chunks_end = std::max(chunks_end, chunk.address + chunk.bytes);
    }
    const uint64_t after_chunks = content().placement.align(chunks_end, 0);
    if (growing_) return growing_->extend_to(after_chunks);
    make_image_at(after_chunks);
}

void PartSpace::find_chunks(const PartReader& file, uint64_t steps) {
    keep_chunks_of(0);
    for (const size_t a : content().packed) {
        const Array& array = content().description.arrays[a];
        const Shape stored = stored_shape(content().description, array, 1), shape(stored.begin() + 1, stored.end());
        for (uint64_t step = 0; step < steps; ++step)
            std::ranges::copy(file.find({array.name, array.type, shape, true}, step).chunks, std::back_inserter(chunks_[a]));
    }
}

void PartSpace::update_metadata() {
    if (metadata_ == Metadata::made) return;
    if (has_several_steps()) {
        describe();
        chunks_.resize(content().arrays.size());
        if (!growing_) growing_.emplace(end_of_last_block(), layout_.overlap_steps);
        growing_->set_content({description_, content().placement, blocks_, chunks_}, std::exchange(room_, std::nullopt));
        metadata_ = Metadata::made;
    } else if (content().packed.empty()) {
        std::shared_ptr<const Image>& kept = part_->image_of_single_step;
        if (!kept) kept = std::make_shared<Image>(image_at(end_of_last_block()));
        image_ = kept;
        metadata_ = Metadata::made;
    }
}

// Makes the part's description, with the attribute that gives the addresses of the seals.
void PartSpace::describe() {
    const PartContent& part = content();
    description_ = part.description;
    if (part.seal_slot_bytes > 0)
        description_.attributes.push_back(
            seal_attribute(seal_map(part.placement, blocks_, part.seal_writers, part.seal_slot_bytes)));
}

PartVersion PartSpace::version(uint64_t steps, bool must_show) {
    PartVersion version = growing_->version({description_, content().placement, blocks_, chunks_}, steps, must_show);
    const uint64_t in_blocks = laid_out_steps() * content().placement.step_pitch();
    const Growth ahead = ahead_.after_step(seconds_now(), steps, version.file_bytes - in_blocks);
    version.sized_ahead = version.file_bytes;
    if (laid_out_steps() - steps <= ahead.steps) version.sized_ahead = std::max(version.sized_ahead, end_of(next_block()));
    version.sized_ahead = (version.sized_ahead / ahead.bytes + 2) * ahead.bytes;
    return version;
}

// The result has no writes if all steps that are laid out were written: then the current version is also the last one.
PartVersion PartSpace::last_version(uint64_t steps) {
    if (steps == laid_out_steps()) return {.steps = steps, .writes = {}, .superblock = {}, .file_bytes = end()};
    uint64_t address = growing_->end();
    if (address <= end_of_last_block()) {  // nothing in the file follows the steps that are cut off
        while (blocks_.back().first_step >= steps) blocks_.pop_back();
        blocks_.back().steps = steps - blocks_.back().first_step;
        address = end_of_last_block();
    }
    describe();
    return growing_->last_version({description_, content().placement, blocks_, chunks_}, steps, address);
}

void PartSpace::forget_metadata() noexcept {
    if (!growing_) return;
    growing_->forget();
    metadata_ = Metadata::outdated;
}

bool PartSpace::can_show(uint64_t steps) const {
    return std::ranges::all_of(content().packed, [&](size_t a) {
        return a < chunks_.size() && chunks_[a].size() == steps * content().description.arrays[a].packing->grid.count();
    });
}

void PartSpace::make_image_at(uint64_t metadata_address) {
    image_ = std::make_shared<Image>(image_at(metadata_address));
    metadata_ = Metadata::made;
}

Image PartSpace::image_at(uint64_t metadata_address) {
    describe();
    return make_image(description_, content().placement, blocks_, laid_out_steps(), metadata_address, chunks_);
}

}  // namespace tailrace
