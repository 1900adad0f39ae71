// Ragged dimensions: the length of such a dimension in a step is the number of elements that all ranks have put.
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
    // Collective. Sets the offsets of blocks without an offset, so that they follow the blocks of lower ranks. Sets the dimensions'
    // lengths in this step. Throws the same error on all ranks.
    void agree_lengths(Definitions& definitions, StepData& data);

private:
    const Communicator& ranks_;
    std::unique_ptr<Communicator> by_user_rank_;  // the ranks in the order of the user's communicator; made at first use
};

}  // namespace tailrace
