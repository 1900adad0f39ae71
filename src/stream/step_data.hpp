// The data that this rank has put into a step: blocks of distributed variables (their memory), values of replicated variables.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "layout/block_view.hpp"
#include "layout/box.hpp"
#include "layout/indexed_block.hpp"
#include "record/definitions.hpp"

namespace tailrace {

struct StepData {
    std::vector<std::vector<Box>> boxes;         // [variable][block]
    std::vector<std::vector<BlockView>> memory;  // [variable][block]
    // [variable][list]: blocks that were put as lists of indices; empty once their elements are in ranges (scattered_blocks.hpp)
    std::vector<std::vector<IndexedBlock>> lists;
    std::vector<std::vector<std::byte>>
        values;  // [variable]: of replicated variables; those of static ones are kept for later steps

    void resize(size_t variables) {
        boxes.resize(variables);
        memory.resize(variables);
        lists.resize(variables);
        values.resize(variables);
    }
    // Keeps the values of static variables.
    void clear_blocks() {
        for (auto& list : boxes) list.clear();
        for (auto& list : memory) list.clear();
        for (auto& list : lists) list.clear();
    }
};

// The distributed variables that a step writes. `with_static`: also the static variables, which are not stored yet.
inline std::vector<size_t> written_variables(const Definitions& definitions, bool with_static) {
    std::vector<size_t> written;
    for (size_t v = 0; v < definitions.variables().size(); ++v) {
        const Variable& variable = definitions.variables()[v];
        if (!variable.replicated && (with_static || !variable.is_static)) written.push_back(v);
    }
    return written;
}

}  // namespace tailrace
