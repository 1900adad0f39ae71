// The space of one part while it is written: where its steps are laid out, where compressed chunks are, and the metadata that
// describes both. Computes addresses and metadata; writes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/layout.hpp"
#include "layout/placement.hpp"
#include "part/growing_metadata.hpp"
#include "part/growth_ahead.hpp"
#include "part/image.hpp"
#include "part/part_reader.hpp"
#include "stream/part_content.hpp"

namespace tailrace {

// What a part holds. One object serves all groups whose parts are equal.
struct DescribedPart {
    PartContent content;
    // With steps = 1: the metadata image, which the first group with this content makes and later groups use again.
    std::shared_ptr<const Image> image_of_single_step = nullptr;
};

class PartSpace {
public:
    explicit PartSpace(const Layout& layout) : layout_(layout) {}
    // A later content of the same part must have the same placement as the first.
    void set_content(std::shared_ptr<DescribedPart> part);
    const PartContent& content() const { return part_->content; }

    bool has_several_steps() const { return layout_.steps != 1; }
    uint64_t capacity_steps() const { return layout_.steps == Layout::kAllSteps ? UINT64_MAX : layout_.steps; }
    uint64_t laid_out_steps() const { return blocks_.empty() ? 0 : blocks_.back().first_step + blocks_.back().steps; }
    const std::vector<StepBlock>& blocks() const { return blocks_; }
    // Whether blocks were added since mark_blocks_known(): the journal does not have them yet.
    bool has_new_blocks() const { return blocks_.size() > known_blocks_; }
    void mark_blocks_known() { known_blocks_ = blocks_.size(); }

    // The block behind all that is laid out. Its address is valid on the part's first writer, which knows where the metadata ends.
    StepBlock next_block() const;
    void add(const StepBlock& block);
    // The blocks that an earlier run laid out, cut to its committed steps; `file_bytes` on the first writer.
    void continue_from(const std::vector<StepBlock>& blocks, uint64_t steps, uint64_t file_bytes);

    uint64_t step_begin(uint64_t step) const { return step_address(content().placement, blocks_, step); }
    uint64_t step_end(uint64_t step) const { return step_begin(step) + content().placement.step_pitch(); }
    uint64_t time_address(uint64_t step) const { return step_begin(step) + content().placement.step_offsets().back(); }
    uint64_t array_address(size_t array, uint64_t step) const;
    // Behind all data and metadata; known on the first writer.
    uint64_t end() const;
    uint64_t end_of_last_block() const { return end_of(blocks_.back()); }

    // Records the places of a step's compressed chunks, in place of those of a failed attempt at the step. Called on the first
    // writer. In a part of one step, also makes the metadata image behind the chunks.
    void place_chunks(const ChunkPlaces& chunks, uint64_t step);
    // Reads the places of the chunks of the first `steps` steps from the file of an earlier run.
    void find_chunks(const PartReader& file, uint64_t steps);

    // Called on the first writer. Makes the metadata again if blocks or descriptions have changed since it was made. In a part of
    // one step this is the image, unless the image must follow compressed chunks.
    void update_metadata();

    // The metadata image of a part of one step; null until it is made.
    const std::shared_ptr<const Image>& image() const { return image_; }

    // Whether the places of all chunks of the first `steps` steps are known. False if a rank failed to compress.
    bool can_show(uint64_t steps) const;
    // The metadata that shows the first `steps` steps, in a part of several steps. `must_show`: not a private version, which
    // readers are never shown.
    PartVersion version(uint64_t steps, bool must_show = false);
    // The last metadata of a part that does not grow any more. Space that was laid out behind these steps is given up.
    PartVersion last_version(uint64_t steps);
    // Makes the next version write all metadata again, at new addresses: the last version may be unwritten, or show a failed step.
    void forget_metadata() noexcept;

private:
    enum class Metadata { outdated, made };

    // The address behind the metadata. Must not fail: other ranks wait for the address that is computed from it.
    uint64_t end_of_metadata() const { return growing_ ? growing_->end() : image_ ? image_->file_bytes : 0; }
    uint64_t end_of(const StepBlock& block) const { return block_end(content().placement, block); }
    void keep_chunks_of(uint64_t steps);
    void make_image_at(uint64_t metadata_address);
    Image image_at(uint64_t metadata_address);
    void describe();

    const Layout& layout_;
    std::shared_ptr<DescribedPart> part_;
    std::vector<StepBlock> blocks_;
    size_t known_blocks_ = 0;
    ChunkPlaces chunks_;  // of all steps; empty where nothing is compressed
    Metadata metadata_ = Metadata::outdated;
    std::shared_ptr<const Image> image_;
    std::optional<GrowingMetadata> growing_;
    GrowthAhead ahead_;
    Description description_;     // with the addresses of the part's checksums
    std::optional<Extent> room_;  // the space in the file for the metadata of the last block
};

}  // namespace tailrace
