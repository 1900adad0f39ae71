// The times of committed steps of a part of several steps, until they are written into it. A step whose time is not there is not
// read: readers find NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "part/held_file.hpp"
#include "part/write_queue.hpp"

namespace tailrace {

class PendingTimes {
public:
    void add(uint64_t address, double time) { waiting_.emplace_back(address, time); }
    // In front of the others: steps of an earlier run, found from the last one on.
    void add_first(uint64_t address, double time) { waiting_.insert(waiting_.begin(), {address, time}); }
    void write(WriteQueue& queue, const std::shared_ptr<HeldFile>& file, WriteQueue::Needs needs) {
        while (!waiting_.empty()) {
            auto write = [file, address = waiting_.front().first, time = waiting_.front().second] {
                file->write_at(address, &time, sizeof time);
            };
            queue.run(std::move(write), needs);
            waiting_.erase(waiting_.begin());
        }
    }

private:
    std::vector<std::pair<uint64_t, double>> waiting_;  // addresses and times
};

}  // namespace tailrace
