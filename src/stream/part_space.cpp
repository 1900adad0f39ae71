#include "stream/part_space.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "part/seal.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kFirstBlockSteps = 8;
constexpr uint64_t kLargestBlockSteps = 1024;

}  // namespace

StepBlock PartSpace::next_block() const {
    const uint64_t laid_out = laid_out_steps();
    StepBlock block{laid_out, 1, content().placement.static_end()};
    if (!has_several_steps()) return block;
    block.steps = std::min(capacity_steps() - laid_out, std::clamp(laid_out, kFirstBlockSteps, kLargestBlockSteps));
    if (laid_out > 0) block.address = content().placement.align(end_of_metadata(), content().placement.step_pitch());
    return block;
}

void PartSpace::add(const StepBlock& block) {
    blocks_.push_back(block);
    image_state_ = ImageState::outdated;
}

void PartSpace::continue_from(const std::vector<StepBlock>& blocks, uint64_t steps, uint64_t file_bytes) {
    earlier_file_bytes_ = file_bytes;
    for (StepBlock block : blocks) {
        if (block.first_step >= steps) break;
        block.steps = std::min(block.steps, steps - block.first_step);
        blocks_.push_back(block);
    }
    mark_blocks_known();
}

void PartSpace::cut_to(uint64_t steps) {
    while (blocks_.back().first_step >= steps) blocks_.pop_back();
    blocks_.back().steps = steps - blocks_.back().first_step;
    if (!content().packed.empty()) keep_chunks_of(steps);  // a step that failed may have left its own
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
    make_image_at(content().placement.align(chunks_end, 0));
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

void PartSpace::make_image_behind_blocks() {
    if (has_several_steps()) return make_image_at(end_of_last_block());
    std::shared_ptr<const Image>& kept = part_->image_of_single_step;
    if (!kept) kept = std::make_shared<Image>(image_at(end_of_last_block()));
    set_image(kept);
}

void PartSpace::set_image(std::shared_ptr<const Image> image) {
    image_ = std::move(image);
    image_state_ = ImageState::made;
}

// With the way to the seals of the steps.
Image PartSpace::image_at(uint64_t metadata_address) const {
    const PartContent& part = content();
    if (part.seal_slot_bytes == 0)
        return make_image(part.description, part.placement, blocks_, laid_out_steps(), metadata_address, chunks_);
    Description description = part.description;
    description.attributes.push_back(seal_attribute(seal_map(part.placement, blocks_, part.seal_writers, part.seal_slot_bytes)));
    return make_image(description, part.placement, blocks_, laid_out_steps(), metadata_address, chunks_);
}

}  // namespace tailrace
