// Ragged dimensions: their length in a step is the number of elements that the ranks have put.
#pragma once

#include <memory>
#include <string>

#include "gather/communicator.hpp"
#include "layout/layout.hpp"
#include "record/definitions.hpp"
#include "stream/step_data.hpp"

namespace tailrace {

// Throws UNSUPPORTED if the dimension is ragged and the layout puts several steps into a file.
void check_length(const Layout& layout, const std::string& dimension, uint64_t length);

class RaggedLengths {
public:
    explicit RaggedLengths(const Communicator& ranks) : ranks_(ranks) {}
    // Collective. Gives blocks without an offset their offset: behind the blocks of lower ranks. Sets the lengths of the step.
    // Throws the same on all ranks.
    void agree_lengths(Definitions& definitions, StepData& data);

private:
    const Communicator& ranks_;
    std::unique_ptr<Communicator> by_user_rank_;  // the ranks in the order of the user's communicator; made at first use
};

}  // namespace tailrace
