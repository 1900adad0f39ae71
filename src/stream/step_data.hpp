// What this rank has put into a step: blocks of distributed variables (where they are in memory), values of replicated ones.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "layout/block_view.hpp"
#include "layout/box.hpp"
#include "record/definitions.hpp"

namespace tailrace {

struct StepData {
    std::vector<std::vector<Box>> boxes;         // [variable][block]
    std::vector<std::vector<BlockView>> memory;  // [variable][block]
    std::vector<std::vector<std::byte>> values;  // [variable]: of replicated variables; static ones stay for later steps

    void resize(size_t variables) {
        boxes.resize(variables);
        memory.resize(variables);
        values.resize(variables);
    }
    // Forgets the blocks; static values stay.
    void clear_blocks() {
        for (auto& list : boxes) list.clear();
        for (auto& list : memory) list.clear();
    }
};

}  // namespace tailrace
