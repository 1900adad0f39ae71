// What a combined file holds and where each byte of it goes: planned from the history before anything is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "layout/placement.hpp"
#include "maintain/stored_box.hpp"
#include "part/image.hpp"
#include "record/history.hpp"

namespace tailrace {

struct CombinePlan {
    Description sources;           // the dataset; its arrays have the parts as sources
    Description output;            // the same arrays, stored in the output
    Placement placement;           // of the output
    StepBlock steps;               // all steps are laid out together
    std::vector<uint64_t> places;  // of each array: its address, or its offset within a step

    bool is_copied(size_t array) const { return sources.arrays[array].is_virtual(); }
    bool is_compressed() const;
    uint64_t address(size_t array, std::optional<uint64_t> step) const {
        return places[array] + (step ? steps.address + *step * placement.step_pitch() : 0);
    }
    uint64_t end() const { return block_end(placement, steps); }  // address behind all uncompressed arrays
    uint64_t chunks_of_step(size_t array) const;                  // 0: the array is not compressed
    // Bytes that are copied for so many steps, with the static arrays.
    uint64_t bytes_of_steps(uint64_t count) const;
    Image image(uint64_t metadata_address, const ChunkPlaces& chunks) const;
};

CombinePlan plan_combine(const History& history, const std::string& stream, SourceFinder& finder);

}  // namespace tailrace
