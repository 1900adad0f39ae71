// Seconds that this rank has spent in each stage of its steps, for the stream's report.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tailrace {

struct StageTimes {
    double agree_s = 0, plan_s = 0, write_s = 0, commit_s = 0, index_s = 0;
    uint64_t steps = 0;          // committed
    uint64_t written_again = 0;  // steps that it wrote before the agreement, and again after it
    // On rank 0, from the call of end_step until the step was committed.
    double durable_s = 0, longest_durable_s = 0;

    void add_committed_step(double seconds) {
        ++steps;
        durable_s += seconds;
        longest_durable_s = std::max(longest_durable_s, seconds);
    }
};

}  // namespace tailrace
