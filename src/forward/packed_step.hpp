// One step of one rank, packed into one span of memory for the rank that writes it:
//
//   [number of words][words: a description of each block][the blocks, each at a multiple of 64 bytes]
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/definitions.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

// A block, or all values of a replicated variable.
struct PackedBlock {
    uint64_t variable = 0;
    bool replicated = false;
    Box box;              // the block's place in the variable
    uint64_t offset = 0;  // of its data in the packed step, in bytes
    uint64_t bytes = 0;
};

struct PackedStep {
    std::vector<PackedBlock> blocks;
    std::vector<uint64_t> words;  // the blocks' descriptions
    uint64_t bytes = 0;           // size of the whole packed step
};

// Plans where each block goes; copies nothing. `with_values`: also replicated values, which are the same on all ranks, so that only
// one client of each writer sends them. `with_static`: also static variables.
PackedStep plan_packed_step(const Definitions& definitions, const StepData& data, bool with_values, bool with_static);
// Copies the blocks to `to`, as planned; allocates nothing.
void pack_step(const PackedStep& step, const StepData& data, std::byte* to);
std::vector<PackedBlock> blocks_of_packed_step(const std::byte* from);

}  // namespace tailrace
