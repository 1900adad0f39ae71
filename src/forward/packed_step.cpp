#include "forward/packed_step.hpp"

#include <cstring>

#include "base/copy.hpp"
#include "gather/box_words.hpp"

namespace tailrace {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kWordsBeforeBox = 5;

uint64_t aligned(uint64_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

std::vector<uint64_t> words_of(const std::vector<PackedBlock>& blocks) {
    std::vector<uint64_t> words;
    for (const PackedBlock& block : blocks) {
        words.insert(words.end(), {block.variable, block.replicated, block.offset, block.bytes, block.box.count.size()});
        put_box(words, block.box);
    }
    return words;
}

}  // namespace

PackedStep plan_packed_step(const Definitions& definitions, const StepData& data, bool with_values, bool with_static) {
    PackedStep step;
    for (uint64_t v = 0; v < definitions.variables().size(); ++v) {
        const uint64_t element_bytes = type_bytes(definitions.variables()[v].type);
        if (definitions.variables()[v].is_static && !with_static) continue;
        if (definitions.variables()[v].replicated) {
            if (with_values && !data.values[v].empty()) step.blocks.push_back({v, true, {}, 0, data.values[v].size()});
        } else {
            for (const Box& box : data.boxes[v]) step.blocks.push_back({v, false, box, 0, box.elements() * element_bytes});
        }
    }
    uint64_t words = 0;
    for (const PackedBlock& block : step.blocks) words += kWordsBeforeBox + 2 * block.box.count.size();
    uint64_t at = sizeof(uint64_t) * (1 + words);
    for (PackedBlock& block : step.blocks) {
        block.offset = aligned(at);
        at = block.offset + block.bytes;
    }
    step.bytes = aligned(at);
    step.words = words_of(step.blocks);
    return step;
}

void pack_step(const PackedStep& step, const StepData& data, std::byte* to) {
    const uint64_t count = step.words.size();
    std::memcpy(to, &count, sizeof count);
    if (count > 0) std::memcpy(to + sizeof count, step.words.data(), count * sizeof(uint64_t));
    size_t number = 0;  // of the block among those of its variable
    for (size_t i = 0; i < step.blocks.size(); ++i) {
        const PackedBlock& block = step.blocks[i];
        number = i > 0 && step.blocks[i - 1].variable == block.variable ? number + 1 : 0;
        std::byte* at = to + block.offset;
        if (block.replicated) {
            std::memcpy(at, data.values[block.variable].data(), block.bytes);
            continue;
        }
        const BlockView& memory = data.memory[block.variable][number];
        if (memory.span_bytes() >= 4096)
            memory.for_spans(0, block.box.elements(), [&](const std::byte* from, uint64_t bytes) {
                copy_past_caches(at, from, bytes);
                at += bytes;
            });
        else
            memory.copy_out(0, block.box.elements(), at);
    }
}

std::vector<PackedBlock> blocks_of_packed_step(const std::byte* from) {
    uint64_t count = 0;
    std::memcpy(&count, from, sizeof count);
    std::vector<uint64_t> words(count);
    if (count > 0) std::memcpy(words.data(), from + sizeof count, count * sizeof(uint64_t));
    std::vector<PackedBlock> blocks;
    for (size_t at = 0; at < words.size();) {
        PackedBlock block{words[at], words[at + 1] != 0, {}, words[at + 2], words[at + 3]};
        const uint64_t dims = words[at + 4];
        at += kWordsBeforeBox;
        block.box = take_box(words, at, dims);
        blocks.push_back(std::move(block));
    }
    return blocks;
}

}  // namespace tailrace
