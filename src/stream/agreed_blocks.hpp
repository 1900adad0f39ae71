// Scattered blocks, and blocks along ragged dimensions: the ranks agree on their places before a step is planned.
#pragma once

#include <memory>

#include "gather/communicator.hpp"
#include "stream/ragged.hpp"
#include "stream/scattered_blocks.hpp"

namespace tailrace {

class AgreedBlocks {
public:
    // `buffer_bytes`: the size of the message buffers of ScatteredBlocks.
    AgreedBlocks(const Communicator& ranks, uint64_t buffer_bytes)
        : ranks_(ranks), scattered_(std::make_unique<ScatteredBlocks>(ranks, buffer_bytes)) {}

    const ScatteredBlocks& scattered() const { return *scattered_; }
    // Local, called in every step before the ranks agree on the step. Does what ScatteredBlocks::take() does.
    bool take(const Definitions& definitions, StepData& data, bool with_static) {
        return scattered_->take(definitions, data, with_static);
    }
    // Collective, called once the ranks agree on the step. `plans`: true on all ranks if one of them must plan. Returns whether
    // blocks may have another place than in the step before. Throws the same error on all ranks.
    bool place(Definitions& definitions, StepData& data, bool with_static, bool plans);

private:
    const Communicator& ranks_;
    std::unique_ptr<ScatteredBlocks> scattered_;
    std::unique_ptr<RaggedLengths> ragged_;
};

}  // namespace tailrace
