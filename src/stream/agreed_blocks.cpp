#include "stream/agreed_blocks.hpp"

#include "gather/agree.hpp"

namespace tailrace {

bool AgreedBlocks::place(Definitions& definitions, StepData& data, bool with_static, bool plans) {
    run_or_end_job(ranks_.size() > 1, [&] {
        if (plans) scattered_->plan(definitions, data, with_static);
        if (scattered_->is_in_use()) scattered_->exchange(definitions, data);
    });
    if (definitions.ragged().empty()) return plans;
    if (!ragged_) ragged_ = std::make_unique<RaggedLengths>(ranks_);
    ragged_->agree_lengths(definitions, data);
    return true;
}

}  // namespace tailrace
