// Blocks whose places the ranks agree on before a step is planned: scattered ones, and those along ragged dimensions.
#pragma once

#include <memory>

#include "gather/communicator.hpp"
#include "stream/ragged.hpp"
#include "stream/scattered_blocks.hpp"

namespace tailrace {

class AgreedBlocks {
public:
    // `buffer_bytes`: as of ScatteredBlocks.
    AgreedBlocks(const Communicator& ranks, uint64_t buffer_bytes)
        : ranks_(ranks), scattered_(std::make_unique<ScatteredBlocks>(ranks, buffer_bytes)) {}

    const ScatteredBlocks& scattered() const { return *scattered_; }
    // Local, in every step before the ranks agree on it. As ScatteredBlocks::take().
    bool take(const Definitions& definitions, StepData& data, bool with_static) {
        return scattered_->take(definitions, data, with_static);
    }
    // Collective, once the ranks agree on the step; `plans`: on all ranks, where one of them must plan. Returns whether blocks may
    // lie elsewhere than before. Throws the same error on all ranks.
    bool place(Definitions& definitions, StepData& data, bool with_static, bool plans);

private:
    const Communicator& ranks_;
    std::unique_ptr<ScatteredBlocks> scattered_;
    std::unique_ptr<RaggedLengths> ragged_;
};

}  // namespace tailrace
