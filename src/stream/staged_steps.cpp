#include "stream/staged_steps.hpp"

namespace tailrace {

void StagedSteps::add(const StepInFlight& step) {
    if (!is_on_) return;
    groups_.push_back(step.group);
    if (step.group->is_full() && step.group->steps() == 1) step.group->leave_scratch();  // of several steps: when it is closed
}

uint64_t StagedSteps::not_arrived() const {
    uint64_t first = 0;
    while (first < groups_.size() && groups_[first]->has_arrived()) ++first;
    return groups_.size() - first;
}

void StagedSteps::commit_arrived(uint64_t not_arrived) {
    while (groups_.size() > not_arrived) {
        groups_.pop_front();
        if (ranks_.rank() != 0 || error_) continue;
        error_ = attempt([&] {
            journal_.commit_staged_step();
            upkeep_.on_step_journaled();
        });
    }
}

Json StagedSteps::report() const {
    Json json = {{"staged_steps", groups_.size()}};
    if (outbox_ == nullptr) return json;
    const Outbox::Counts counts = outbox_->counts();
    json["folder"] = outbox_->folder();
    json["delivered_files"] = counts.files;
    json["delivered_bytes"] = counts.bytes;
    json["waiting_files"] = counts.waiting;
    json["files_at_target_at_once"] = counts.direct;
    return json;
}

}  // namespace tailrace
