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
    uint64_t bytes = 0;  // steps = 1: of this rank's part; once the ranks have agreed on it, of all parts
    std::vector<uint64_t> ragged_lengths;
    std::shared_ptr<Group> group;
    uint64_t number_in_group = 0;
    std::shared_ptr<const Group::Written> written;
    uint64_t plan = 0;  // rank 0: the number of its plan line
    // With overlap.
    uint64_t written_after = 0;                        // work of this rank's queue
    uint64_t committed_after = 0;                      // the same, on rank 0; 0: the commit is not submitted, kCommitFailed: never
    std::shared_ptr<std::atomic<double>> durable_s{};  // rank 0: when it was committed; 0 before

    static constexpr uint64_t kCommitFailed = UINT64_MAX;
};

}  // namespace tailrace
