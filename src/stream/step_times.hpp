// The times of a stream's steps: which time may come next, and which steps of earlier runs lie before a time. Local functions with
// the same results on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tailrace {

// The number of leading steps that lie before `time`, in the direction of the first two different times. One step alone counts as a
// stream whose times increase.
size_t steps_before(const std::vector<double>& times, double time);

class StepTimes {
public:
    // Adds the time of a step that is committed, or with overlap in flight.
    void add(double time);
    // Accepts all times. For copies of streams that older versions wrote, where times may repeat.
    void accept_all() { accepts_all_ = true; }
    // Throws BAD_ORDER, with the times and the remedies, unless a step at `time` may come next. `where`: the stream, for the
    // message.
    void check(double time, const std::string& where) const;

private:
    bool accepts_all_ = false;
    uint64_t count_ = 0;
    double first_ = 0, second_ = 0, last_ = 0;  // second_: the first time that differs from first_; equal to first_ if none does
};

// The steps that earlier runs have committed. Except with mode = resume only three of them: the first, the next one with another
// time, and the last.
struct EarlierSteps {
    std::vector<uint64_t> numbers;
    std::vector<double> times;
    uint64_t retained_from = 0;  // History::retained_from
    size_t kept = 0;             // how many steps are kept, from the first on; with mode = resume the others leave the stream
    size_t staged = 0;           // how many at the end are staged, and not at their target (stage = scratch)

    void keep_before(double time) { kept = steps_before(times, time); }
    // Throws NOT_FOUND if a staged step would be kept: the steps after it would follow a hole.
    void check_no_hole(const std::string& directory, const std::string& stream) const;
    bool some_leave() const { return kept < times.size(); }
    uint64_t first_leaving() const { return numbers[kept]; }
    // Forgets the steps that leave the stream, once they are removed.
    void forget_leaving() { numbers.resize(kept), times.resize(kept), staged = 0; }
    uint64_t next_step() const;
    StepTimes kept_times() const;
};

}  // namespace tailrace
