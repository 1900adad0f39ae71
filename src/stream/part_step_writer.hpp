// Writes one step's bytes into this rank's part: the arrays, then their checksums (the seals of the step).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "part/part_file.hpp"
#include "part/write_queue.hpp"
#include "record/definitions.hpp"
#include "stream/part_space.hpp"
#include "stream/step_data.hpp"
#include "stream/step_plan.hpp"

namespace tailrace {

// What one rank is in its part.
struct PartRole {
    uint64_t part = 0;
    uint64_t writer = 0;  // the rank's number among the part's writers, from 0; equal to `writers` if the rank is not a writer
    uint64_t writers = 1;
    bool is_writer() const { return writer < writers; }
    bool is_first_writer() const { return is_writer() && writer == 0; }
};

class PartStepWriter {
public:
    PartStepWriter(WriteQueue& queue, const PartRole& role) : queue_(queue), role_(role) {}

    // Begins a step. `step`: its number in the part, from 0.
    void begin(std::shared_ptr<HeldFile> file, uint64_t step, bool checksum, PartWriter::Gaps gaps);
    // Writes the arrays that need no data of other ranks: this rank's blocks of boxes that their owners write, and on the first
    // writer also the replicated values and the time.
    void write_own(const PartSpace& space, const Definitions& definitions, const StepPlan& plan, const StepData& data, double time);
    // Adds bytes that other ranks have sent. The memory at `data` must stay unchanged until write_out().
    void add(uint64_t address, const std::byte* data, uint64_t bytes) { exchange_out_->add(address, data, bytes); }
    void write_out() { exchange_out_->write_out(); }
    void flush() { exchange_out_->flush(); }
    // Writes the step's seals when the queue has written the data; then adds the sum of their checksums to `*digest`.
    void write_seals(const PartSpace& space, const std::shared_ptr<uint64_t>& digest);
    // Forgets the step.
    void end() noexcept;

private:
    bool writes_static() const { return step_ == 0; }
    void write_box(uint64_t address, const BoxPlan& planned, const StepData& data, PartWriter& out) const;
    void write_replicated(uint64_t address, const PartArray& array, const Definitions& definitions, const StepData& data,
                          PartWriter& out);

    WriteQueue& queue_;
    const PartRole& role_;
    std::shared_ptr<HeldFile> file_;
    uint64_t step_ = 0;
    std::optional<PartWriter> static_out_, step_out_, exchange_out_;
    double time_ = 0;                             // the writers refer to it
    std::vector<std::vector<std::byte>> slices_;  // replicated values cut to this part; the writers refer to them
};

}  // namespace tailrace
