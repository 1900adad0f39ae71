// How much data of one step goes from which rank to which writer, by the rules of plan.hpp. Variables with the same decomposition
// and element size are counted together.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/parts.hpp"
#include "layout/plan.hpp"

namespace tailrace {

class Flow {
public:
    explicit Flow(const PlanRequest& request);

    const PartMap& parts() const { return parts_; }
    bool may_have_messages() const;  // false: no rank sends data to another rank
    uint64_t bytes(uint64_t part) const;

private:
    friend class PartFlow;
    struct Alike {
        Decomposition decomposition;
        uint64_t element_bytes = 0;  // of each of its variables
        uint64_t variables = 1;
        uint64_t bytes(uint64_t elements) const { return elements * element_bytes * variables; }
    };
    Layout layout_;
    uint64_t ranks_;
    PartMap parts_;
    std::vector<Alike> alike_;
    uint64_t scalar_bytes_ = sizeof(double);  // scalars and the time value
};

// The flow within one part. The Flow must outlive it.
class PartFlow {
public:
    PartFlow(const Flow& flow, uint64_t part);

    // What a rank sends to a writer of the part (perhaps itself), by the writer's number, ascending.
    struct WriterBytes {
        uint64_t writer = 0, bytes = 0;
    };
    // `to_writers` is cleared and filled: reuse one vector, so that a million ranks cost no memory.
    void bytes_to_writers(uint64_t rank, std::vector<WriterBytes>& to_writers) const;
    std::vector<PlannedMessage> sends_of(uint64_t rank) const;
    // What the k-th writer receives from other ranks, in the order of the ranks.
    std::vector<PlannedMessage> receives_of(uint64_t k) const;
    // Bytes that the k-th writer writes in a step.
    uint64_t writer_bytes(uint64_t k) const;

private:
    using Alike = Flow::Alike;
    struct FlowBox {
        Box box;
        bool direct = false;
    };
    void add_bytes_to_writers(size_t alike, uint64_t rank, std::vector<WriterBytes>& to_writers) const;

    const Flow& flow_;
    const uint64_t part_, first_, last_, writers_;
    std::vector<std::vector<FlowBox>> boxes_;  // [alike]; empty where one writer writes everything
};

}  // namespace tailrace
