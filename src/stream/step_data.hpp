// The data that this rank has put into a step: blocks of distributed variables (their memory), values of replicated variables.
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
    std::vector<std::vector<std::byte>>
        values;  // [variable]: of replicated variables; those of static ones are kept for later steps

    void resize(size_t variables) {
        boxes.resize(variables);
        memory.resize(variables);
        values.resize(variables);
    }
    // Keeps the values of static variables.
    void clear_blocks() {
        for (auto& list : boxes) list.clear();
        for (auto& list : memory) list.clear();
    }
};

}  // namespace tailrace
