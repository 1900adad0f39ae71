// A step that the ranks have written, or will have written when their queues are done, and that is not committed yet.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "stream/group.hpp"

namespace tailrace {

struct StepInFlight {
    uint64_t step = 0;
    double time = 0, began_s = 0;
    uint64_t bytes = 0;  // with steps = 1: the size of this rank's part; after the ranks' agreement, of all parts
    std::vector<uint64_t> ragged_lengths;
    std::shared_ptr<Group> group;
    uint64_t number_in_group = 0;
    std::shared_ptr<const Group::Written> written;
    uint64_t plan = 0;  // rank 0: the number of the plan line in the journal that describes the step
    // The following are used with overlap.
    // The step is written when this rank's queue has done its work up to this number.
    uint64_t written_after = 0;
    // Rank 0: the number of the work that commits the step. 0: not submitted yet; kCommitFailed: it will never be.
    uint64_t committed_after = 0;
    std::shared_ptr<std::atomic<double>> durable_s{};  // rank 0: the time when the step was committed; 0 before

    static constexpr uint64_t kCommitFailed = UINT64_MAX;
};

}  // namespace tailrace
