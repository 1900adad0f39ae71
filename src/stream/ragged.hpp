// Ragged dimensions: each step has as many elements along them as the ranks put.
#pragma once

#include <memory>
#include <string>

#include "gather/communicator.hpp"
#include "layout/layout.hpp"
#include "record/definitions.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

// Throws UNSUPPORTED for a ragged length under a layout whose files have several steps.
void check_length(const Layout& layout, const std::string& dimension, uint64_t length);

class RaggedLengths {
public:
    explicit RaggedLengths(const Communicator& ranks) : ranks_(ranks) {}
    // Collective. Places the blocks that were put without an offset, those of each rank behind those of the ranks before, and sets
    // the lengths of the step. Throws the same on all ranks.
    void settle(Definitions& definitions, StepData& data);

private:
    const Communicator& ranks_;
    std::unique_ptr<Communicator> by_user_rank_;  // the user's order, in which the ranks may not be numbered here
};

}  // namespace tailrace
